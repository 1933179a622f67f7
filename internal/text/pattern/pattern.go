package pattern

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/slotmq/go-rmq/message"
)

// Regexp makes a filter of contents from a regular expression, in the syntax of Go. It must
// match a part of the content.
func Regexp(pattern string) (func(content string) bool, error) {
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, badPattern("regular expression", pattern, "one that Go can read: "+err.Error())
	}
	return expression.MatchString, nil
}

// Glob makes a filter of contents: * stands for any text, ? for one character, [a-z0] for
// one of some, [^a-z0] for one of all others, and \ takes the meaning from what follows it.
// It must match the whole content. A byte that is not text counts as one character.
func Glob(pattern string) (func(content string) bool, error) {
	var expression strings.Builder
	expression.WriteString(`(?s)\A`)
	rest := characters(pattern)
	next := func() (c rune, ok bool) { // the next character, perhaps from behind a \
		rest = strings.TrimPrefix(rest, `\`)
		c, width := utf8.DecodeRuneInString(rest)
		rest = rest[width:]
		return c, width > 0
	}
	for rest != "" {
		switch rest[0] {
		case '*':
			expression.WriteString(".*")
			rest = rest[1:]
		case '?':
			expression.WriteString(".")
			rest = rest[1:]
		case '[':
			expression.WriteString("[")
			var not, ok bool
			if rest, not = strings.CutPrefix(rest[1:], "^"); not {
				expression.WriteString("^")
			}
			for first := true; first || !strings.HasPrefix(rest, "]"); first = false {
				var low, high rune
				low, ok = next()
				high = low
				if strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "-]") {
					rest = rest[1:]
					high, ok = next()
				}
				if !ok {
					return nil, badPattern("pattern", pattern, `one in which each [ has its ]; write \[ for the character`)
				}
				fmt.Fprintf(&expression, `\x{%x}-\x{%x}`, min(low, high), max(low, high))
			}
			expression.WriteString("]")
			rest = rest[1:]
		default:
			c, ok := next()
			if !ok {
				return nil, badPattern("pattern", pattern, `one that does not end with \; write \\ for the character`)
			}
			expression.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	whole, err := regexp.Compile(expression.String() + `\z`)
	if err != nil {
		return nil, badPattern("pattern", pattern, "a shorter one: "+err.Error())
	}
	return func(content string) bool { return whole.MatchString(characters(content)) }, nil
}

func badPattern(field, pattern, limit string) error {
	return &message.InvalidError{Field: field, Value: fmt.Sprintf("%.60q", pattern), Limit: limit}
}

// characters is a text in which each byte that is not text is a character of its own: one for
// private use, so that the byte matches itself and not the sign that usually replaces it.
func characters(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	const private = 0x10ff00
	var b strings.Builder
	for i := 0; i < len(text); {
		c, width := utf8.DecodeRuneInString(text[i:])
		if c == utf8.RuneError && width == 1 {
			c = private + rune(text[i])
		}
		b.WriteRune(c)
		i += width
	}
	return b.String()
}
