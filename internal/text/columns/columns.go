package columns

import (
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
)

// Of returns how many columns of a terminal a text takes. One character on the screen, such
// as a letter with its accents or a picture with its colour, may be several runes.
func Of(s string) int { return displaywidth.String(s) }

// Shorten cuts a text to a number of columns.
func Shorten(s string, most int) string {
	if len(s) <= most { // no byte takes more than one
		return s
	}
	return displaywidth.TruncateString(s, most, "…")
}

// Wrap breaks a text at spaces into lines of at most that many columns. A word that is
// longer is broken, too. Several spaces are kept, except at the end of a line.
func Wrap(s string, most int) []string {
	var lines []string
	line, n := "", 0
	spaces := 0 // before the word
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, s)
	for word := range strings.SplitSeq(s, " ") {
		if word == "" {
			spaces++
			continue
		}
		before := spaces
		spaces = 1
		if w := Of(word); n > 0 && n+before+w <= most {
			line, n = line+strings.Repeat(" ", before)+word, n+before+w
			continue
		}
		if n > 0 {
			lines = append(lines, line)
		}
		for Of(word) > most {
			first := firstColumns(word, most)
			lines, word = append(lines, first), word[len(first):]
		}
		line, n = word, Of(word)
	}
	return append(lines, line)
}

// firstColumns is the beginning of a text that takes that many columns, one character at least.
func firstColumns(s string, most int) string {
	characters := displaywidth.StringGraphemes(s)
	n, end := 0, 0
	for characters.Next() {
		if n += characters.Width(); n > most && end > 0 {
			break
		}
		end += len(characters.Value())
	}
	return s[:end]
}
