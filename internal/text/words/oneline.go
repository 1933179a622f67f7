package words

import (
	"strings"
	"unicode"
)

// OneLine is a text in one line, with nothing in it that a terminal would obey.
func OneLine(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.Join(lines, "; "))
}
