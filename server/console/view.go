package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/server/tokens"
)

// functions are what templates call.
var functions = template.FuncMap{
	"grouped": words.Grouped, "count": words.Count, "span": humantime.Duration, "rate": humantime.Rate, "moment": moment, "stamp": stamp,
	"text": words.Legible, "holder": inspector.HolderName, "brief": brief, "at100": at100,
	"anyone": func() string { return tokens.Anyone.Name },
	"since":  func(t time.Time) string { return humantime.Duration(time.Since(t)) },
	"ago":    func(t time.Time) string { return humantime.Ago(time.Since(t)) },
}

// moment is a time as all who read the page understand it, wherever they are.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// stamp is a time as programs write it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// at100 is how long so many messages take at 100 a second.
func at100(n int) string {
	return humantime.Duration(max(time.Second, time.Duration(n)*10*time.Millisecond))
}

// shorten cuts a text that is longer than so many characters.
func shorten(s string, most int) string {
	n := 0
	for at := range s {
		if n++; n > most {
			return s[:at] + "…"
		}
	}
	return s
}

// longestShown is how much of a content a list shows, in characters.
const longestShown = 120

// shown is a content in a list.
func (c *Console) shown(content string) string {
	if c.cfg.HideContents {
		return fmt.Sprintf("%s, #%s", words.Count(len(content), "byte"), c.digest(content)[:8])
	}
	return shorten(words.Legible(words.Head(content, 4*longestShown)), longestShown)
}

// whole is a content on its own page.
func (c *Console) whole(content string) string {
	if c.cfg.HideContents {
		return c.shown(content)
	}
	return words.Legible(content)
}

// brief is an error in a list.
func brief(reason string) string {
	if reason == "" {
		return "not known"
	}
	line, _, _ := strings.Cut(reason, "\n")
	return shorten(words.Legible(strings.TrimSpace(words.Head(line, 4*longestShown))), longestShown)
}

// digest names a content that is too long for an address, or not to be seen. Where contents are hidden it has a key of the
// process, so that no one can find a content by its digest.
func (c *Console) digest(content string) string {
	h := sha256.New()
	if c.cfg.HideContents {
		h = hmac.New(sha256.New, c.key)
	}
	h.Write([]byte(content))
	return hex.EncodeToString(h.Sum(nil))
}

// sentence is an error as a sentence.
func sentence(err error) string { return capital(strings.ToValidUTF8(err.Error(), "\ufffd")) + "." }

func capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if word, _, _ := strings.Cut(s, " "); strings.ContainsAny(word, ":./_") { // a name
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}
