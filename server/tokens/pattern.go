package tokens

import "strings"

// pattern is the name of a topic, in which * stands for any text. No other letter has a meaning: a topic may be named job[1].
type pattern []string // what is between the stars

func patternOf(text string) pattern { return strings.Split(text, "*") }

func (p pattern) fits(topic string) bool {
	rest, fits := strings.CutPrefix(topic, p[0])
	if len(p) == 1 {
		return fits && rest == ""
	}
	last := len(p) - 1
	for _, part := range p[1:last] {
		var found bool
		_, rest, found = strings.Cut(rest, part) // the first is enough: what follows then has the most room
		fits = fits && found
	}
	return fits && strings.HasSuffix(rest, p[last])
}
