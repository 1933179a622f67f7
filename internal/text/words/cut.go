package words

import "unicode/utf8"

// Head is the beginning of a text, of at most so many bytes. If it is UTF-8 no character is cut in two.
func Head(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > max(0, most-utf8.UTFMax) && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}

// Shorten is the beginning of a text, and shows by "…" that there is more.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return Head(s, most) + "…"
}
