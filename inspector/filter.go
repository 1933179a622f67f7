package inspector

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/slotmq/go-rmq/message"
)

// Regexp makes a filter of contents from a regular expression, in the syntax of Go. It must
// fit a part of the content.
func Regexp(pattern string) (func(content string) bool, error) {
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, badPattern("regular expression", pattern, "one that Go can read: "+err.Error())
	}
	return expression.MatchString, nil
}

// Glob makes a filter of contents: * stands for any text, ? for one character, [a-z0] for
// one of some, [^a-z0] for one of all others, and \ takes the meaning from what follows it.
// It must fit the whole content. A byte that is not text counts as one character.
func Glob(pattern string) (func(content string) bool, error) {
	const brackets = `one in which each [ has its ]; write \[ for the character`
	var parts []part
	for rest := pattern; rest != ""; {
		var p part
		ok := true
		switch rest[0] {
		case '*':
			p.star, rest = true, strings.TrimLeft(rest, "*")
		case '?':
			p.not, rest = true, rest[1:]
		case '[':
			rest, p.not = strings.CutPrefix(rest[1:], "^")
			for ok && (p.some == nil || !strings.HasPrefix(rest, "]")) {
				var low, high rune
				low, rest, ok = literal(rest)
				high = low
				if strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "-]") {
					high, rest, ok = literal(rest[1:])
				}
				p.some = append(p.some, [2]rune{low, high})
			}
			if !ok {
				return nil, badPattern("pattern", pattern, brackets)
			}
			rest = rest[1:]
		default:
			var c rune
			if c, rest, ok = literal(rest); !ok {
				return nil, badPattern("pattern", pattern, `one that does not end with \; write \\ for the character`)
			}
			p.some = [][2]rune{{c, c}}
		}
		parts = append(parts, p)
	}
	return func(content string) bool { return fits(parts, content) }, nil
}

func badPattern(field, pattern, limit string) error {
	return &message.InvalidError{Field: field, Value: fmt.Sprintf("%.60q", pattern), Limit: limit}
}

// part of a pattern: a star, or one character.
type part struct {
	star bool
	not  bool      // none of those is meant
	some [][2]rune // from the one to the other
}

func (p *part) takes(c rune) bool {
	for _, s := range p.some {
		if s[0] <= c && c <= s[1] {
			return !p.not
		}
	}
	return p.not
}

// character is the first one of a text, and how many bytes it has. A byte that is not text
// is one that no text has.
func character(text string) (c rune, width int) {
	c, width = utf8.DecodeRuneInString(text)
	if c == utf8.RuneError && width == 1 {
		c = utf8.MaxRune + 1 + rune(text[0])
	}
	return c, width
}

// literal takes one character from a pattern, perhaps from behind a \.
func literal(pattern string) (c rune, rest string, ok bool) {
	pattern, _ = strings.CutPrefix(pattern, `\`)
	c, width := character(pattern)
	return c, pattern[width:], width > 0
}

// fits reports whether the parts make up the whole text. Only the last star that was met
// may have to take more: what an earlier one took fits already.
func fits(parts []part, text string) bool {
	at, p := 0, 0        // in text and parts
	star, taken := -1, 0 // the part behind the last star, and where what it took ends
	for at < len(text) {
		if p < len(parts) && parts[p].star {
			p++
			star, taken = p, at
			continue
		}
		c, width := character(text[at:])
		switch {
		case p < len(parts) && parts[p].takes(c):
			p, at = p+1, at+width
		case star >= 0:
			_, width = character(text[taken:])
			taken += width
			at, p = taken, star
		default:
			return false
		}
	}
	return p == len(parts) || p == len(parts)-1 && parts[p].star
}
