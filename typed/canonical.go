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
// refuses what the decoder would make something else of: half a surrogate pair, and two members
// of one name.
func canonical(text string) (string, error) {
	if lone := half(text); lone != "" {
		return "", fmt.Errorf("a string has %s, which is half a character", lone)
	}
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
	if members(out) < members(text) {
		return "", errors.New("an object has two members of one name")
	}
	return string(out), nil
}

// members counts the members of all objects in a text: each has a colon.
func members[T string | []byte](text T) (n int) {
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
