package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Grouped is a number as people read it: 4,812.
func Grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Count is a number with its noun: "1 dead message", "4,812 dead messages".
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%s %ss", Grouped(n), one)
}

// Legible is a text as it is, or quoted as in Go, if it would not look like itself or do
// something to the terminal.
func Legible(s string) string {
	if s == "" || s[0] == '"' || s[0] == ' ' || s[len(s)-1] == ' ' || !utf8.ValidString(s) ||
		strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// Signed is a change a second as people read it: +3, -120, 0, +0.5.
func Signed(rate float64) string {
	text := strconv.FormatFloat(rate, 'f', 0, 64)
	if -10 < rate && rate < 10 && rate != math.Trunc(rate) {
		text = strconv.FormatFloat(rate, 'f', 1, 64)
		if text == "0.0" || text == "-0.0" { // it is less
			text = strconv.FormatFloat(rate, 'g', 1, 64)
		}
	}
	if rate > 0 {
		text = "+" + text
	}
	return text
}

// Alternatives lists words for people: a, b or c.
func Alternatives(all []string) string {
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}

// Quoted is a word as a shell reads it.
func Quoted(word string) string {
	const signs, rest = "-_./:@%+=,", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	switch {
	case word == "-", strings.Trim(word, signs) != "" && strings.Trim(word, signs+rest) == "":
		return word
	case Legible("."+word+".") == "."+word+".":
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder // as bash, zsh and ksh read it
	b.WriteString("$'")
	for _, c := range []byte(word) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(rune(c)))
		case c >= ' ' && c < 0x7f:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String() + "'"
}
