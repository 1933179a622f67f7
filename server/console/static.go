package console

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"net/http"
)

//go:embed pages/*.html static/*
var files embed.FS

// static are the files that pages load, by name.
var static = map[string]*asset{
	"console.css": assetOf("console.css", "text/css; charset=utf-8"),
	"console.js":  assetOf("console.js", "text/javascript; charset=utf-8"),
	"icon.svg":    assetOf("icon.svg", "image/svg+xml"),
}

// asset is a file that never changes while the program runs.
type asset struct {
	kind, tag string
	text      []byte
}

func assetOf(name, kind string) *asset {
	text, err := files.ReadFile("static/" + name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return &asset{kind, fmt.Sprintf(`"%x"`, sha256.Sum256(text))[:18] + `"`, text}
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
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
