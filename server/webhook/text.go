package webhook

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slotmq/go-rmq/internal/text/words"
)

// printable is a text as a header can hold it: what is not printable ASCII, % and what is in more are
// written as in URLs, %0A. So any text is one line, and can be had back.
func printable(s, more string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '%' || strings.IndexByte(more, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// shorten cuts a text behind at most some bytes, and no character in two. Its three points are ASCII, as headers are.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return words.Head(s, most) + "..."
}

// firstLine is the first line of a text that has something to show, for people: a terminal must not obey it.
func firstLine(s string, most int) string {
	for line := range strings.Lines(s) {
		line = strings.Map(func(r rune) rune {
			if r == utf8.RuneError || !unicode.IsPrint(r) {
				return ' '
			}
			return r
		}, line)
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			return shorten(line, most)
		}
	}
	return ""
}

// token reports whether a text may be the name of a header.
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf || !tokenByte(byte(r)) })
}

func tokenByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// fieldValue reports whether a text may be the value of a header.
func fieldValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f })
}
