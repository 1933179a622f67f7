package console

import (
	"crypto/sha256"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/humantime"
)

// words are what templates call.
var words = template.FuncMap{
	"grouped": grouped, "count": countOf, "span": humantime.Duration, "rate": humantime.Rate, "moment": moment, "stamp": stamp,
	"text": legible, "spark": spark, "holder": inspector.HolderName, "sentence": sentence,
	"ago": func(t time.Time) string { return humantime.Ago(time.Since(t)) },
}

// grouped is a number as people read it: 4,812.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// countOf is a number with its noun: "1 slot", "4,812 slots".
func countOf(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + one + "s"
}

// moment is a time as all who read the page understand it, wherever they are.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// stamp is a time as programs write it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// legible is a text as it is, or quoted as in Go, if it would not look like itself.
func legible(s string) string {
	if s == "" || s[0] == '"' || s[0] == ' ' || s[len(s)-1] == ' ' || !utf8.ValidString(s) ||
		strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
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
		return fmt.Sprintf("%s, #%s", countOf(len(content), "byte"), digest(content)[:8])
	}
	return shorten(legible(content[:min(len(content), 4*longestShown)]), longestShown)
}

// whole is a content on its own page.
func (c *Console) whole(content string) string {
	if c.cfg.HideContents {
		return c.shown(content)
	}
	return legible(content)
}

// digest names a content that is too long for an address, or not to be seen.
func digest(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

// sentence is an error as a sentence.
func sentence(err error) string { return capital(strings.ToValidUTF8(err.Error(), "\ufffd")) + "." }

func capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if word, _, _ := strings.Cut(s, " "); strings.ContainsAny(word, ":./_") { // a name
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}
