package pages

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"net/http"
)

//go:embed html/*.html static/*
var files embed.FS

// Static are the files that pages load, by name.
var Static = map[string]*Asset{
	"console.css": assetOf("console.css", "text/css; charset=utf-8"),
	"console.js":  assetOf("console.js", "text/javascript; charset=utf-8"),
	"icon.svg":    assetOf("icon.svg", "image/svg+xml"),
}

// Asset is a file that never changes while the program runs.
type Asset struct {
	kind, tag string
	text      []byte
}

func assetOf(name, kind string) *Asset {
	text, err := files.ReadFile("static/" + name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return &Asset{kind, fmt.Sprintf(`"%x"`, sha256.Sum256(text))[:18] + `"`, text}
}

// ServeHTTP answers with the file.
func (a *Asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("ETag", a.tag)
	h.Set("Cache-Control", "no-cache") // ask whether it is still so
	if r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(a.text)
}

// contentPolicy lets a page load nothing but the console's own style and script, and speak to nothing else.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// Guard keeps browsers from doing more with an answer than it needs.
func Guard(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // addresses have contents of messages; with no referrer at all, browsers do not say whose form they send
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
