package typed

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// canonical rewrites what package encoding/json has written in the form of RFC 8785. It
// refuses a text that other values could have, too.
func canonical(text string) (string, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", err
	}
	out, err := appendValue(make([]byte, 0, len(text)), v)
	if err != nil {
		return "", err
	}
	content := string(out)
	if members(content) < members(text) {
		return "", errors.New("an object has two members of one name")
	}
	if n := strings.Count(content, replacement); n > strings.Count(text, replacement) || n > 0 && writesReplacement {
		return "", errReplaced
	}
	return content, nil
}

// replacement is what the decoder makes of what is not Unicode: of bytes that are not UTF-8, of
// half a surrogate pair, and of escaped, which the encoder writes for bytes that are not UTF-8.
// So there must not be more of it in a content than in the text.
const (
	replacement = "\ufffd"
	escaped     = `\ufffd`
)

var errReplaced = errors.New("a string is not valid Unicode, or has " + escaped + ", which is written for that (see typed.JSON)")

// writesReplacement is whether the encoder writes the character at once, as it does with
// GOEXPERIMENT=jsonv2. Then it may always stand for something else.
var writesReplacement = func() bool {
	text, _ := json.Marshal("\xff")
	return strings.Contains(string(text), replacement)
}()

// replacedInside reports whether the encoder has replaced something in a string that it has
// written as JSON within a string, as a field with the option "string" asks for.
func replacedInside(s string) bool {
	return strings.HasPrefix(s, `"`) && strings.Contains(strings.ReplaceAll(s, `\\`, ""), escaped) && json.Valid([]byte(s))
}

// members counts the members of all objects in a text: each has a colon.
func members(text string) (n int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++
		case ':':
			if !quoted {
				n++
			}
		}
	}
	return n
}

func appendValue(out []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	case json.Number:
		return appendNumber(out, v.String())
	case string:
		if replacedInside(v) {
			return nil, errReplaced
		}
		return appendString(out, v), nil
	case []any:
		out = append(out, '[')
		for i, e := range v {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = appendValue(out, e); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.SortFunc(names, byUTF16)
		out = append(out, '{')
		for i, name := range names {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendString(out, name), ':')
			if out, err = appendValue(out, v[name]); err != nil {
				return nil, err
			}
		}
		return append(out, '}'), nil
	}
	return nil, fmt.Errorf("%T is no JSON", v)
}

// byUTF16 is the order of names in the RFC, that of JavaScript. It differs from the order of
// the bytes only beyond U+FFFF.
func byUTF16(a, b string) int {
	if i := strings.IndexFunc(a+b, func(r rune) bool { return r > 0xffff }); i < 0 {
		return cmp.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// appendNumber writes whole numbers with all their digits, and all others as JavaScript
// does: the shortest form that is the same float64.
func appendNumber(out []byte, text string) ([]byte, error) {
	if !strings.ContainsAny(text, ".eE") {
		if text == "-0" {
			text = "0"
		}
		return append(out, text...), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("number %s: %w", text, errors.Unwrap(err))
	}
	switch size := math.Abs(f); {
	case f == 0:
		return append(out, '0'), nil
	case size >= 1e-6 && size < 1e21:
		return strconv.AppendFloat(out, f, 'f', -1, 64), nil
	}
	begin := len(out)
	out = strconv.AppendFloat(out, f, 'e', -1, 64)
	if n := len(out); n-begin >= 4 && out[n-4] == 'e' && out[n-2] == '0' { // e-07 is e-7 there
		out[n-2] = out[n-1]
		out = out[:n-1]
	}
	return out, nil
}

func appendString(out []byte, s string) []byte {
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r >= ' ':
			out = utf8.AppendRune(out, r)
		case r == '\b':
			out = append(out, `\b`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\f':
			out = append(out, `\f`...)
		case r == '\r':
			out = append(out, `\r`...)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return append(out, '"')
}
