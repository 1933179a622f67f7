package main

import (
	"strings"
	"unicode"
)

// wide are the characters that take two columns: those of East Asia, and pictures.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x2e80, Hi: 0x303e, Stride: 1}, {Lo: 0x3041, Hi: 0xa4cf, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xfe30, Hi: 0xfe6f, Stride: 1},
		{Lo: 0xff00, Hi: 0xff60, Stride: 1}, {Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x1f300, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1}},
}

// columns is how many columns of a terminal a text takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me): // they stand on the one before
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// shorten cuts a text to a number of columns.
func shorten(s string, most int) string {
	if len(s) <= most || columns(s) <= most {
		return s
	}
	n := 0
	for i, r := range s {
		if n+columnsOf(r) > most-1 {
			return s[:i] + "…"
		}
		n += columnsOf(r)
	}
	return s
}

// wrap breaks a text at spaces into lines of at most that many columns. A word that is
// longer is broken, too. Several spaces stay several, but where a line ends.
func wrap(s string, most int) []string {
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
		if w := columns(word); n > 0 && n+before+w <= most {
			line, n = line+strings.Repeat(" ", before)+word, n+before+w
			continue
		}
		if n > 0 {
			lines = append(lines, line)
		}
		for columns(word) > most {
			cut := cutAt(word, most)
			lines, word = append(lines, word[:cut]), word[cut:]
		}
		line, n = word, columns(word)
	}
	return append(lines, line)
}

// cutAt is where a text has taken that many columns.
func cutAt(s string, most int) int {
	n := 0
	for i, r := range s {
		if n += columnsOf(r); n > most && i > 0 {
			return i
		}
	}
	return len(s)
}
