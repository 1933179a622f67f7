package typed

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Package encoding/json replaces what is not Unicode by U+FFFD, so that different values have
// the same text. Nothing of this kind gets into a content.

var errNotUTF8 = errors.New("a string is not valid UTF-8")

// faithful returns an error if text, which package encoding/json has written of v, may be that
// of other values, too.
func faithful(text string, v any) error {
	// Strings the encoder has replaced. A json.RawMessage or a json.Marshaler may be no UTF-8 itself.
	if !utf8.ValidString(text) || strings.Contains(text, replacement) && replaces(reflect.ValueOf(v)) {
		return errNotUTF8
	}
	return nil
}

// replacement is what the encoder writes for what is not UTF-8. The character itself it
// writes as it is.
const replacement = `\ufffd`

// replaces reports whether the encoder replaces something of v. Only the value can say that: a
// json.RawMessage may have the same escape in it, and mean the character.
func replaces(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Interface, reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() {
			return false
		}
	}
	if text, itself := byItself(v); itself {
		return escaped(text)
	}
	switch v.Kind() {
	case reflect.String:
		return !utf8.ValidString(v.String())
	case reflect.Interface, reflect.Pointer:
		return replaces(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if replaces(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for name, e := range v.Seq2() {
			if replaces(asName(name)) || replaces(e) {
				return true
			}
		}
	case reflect.Struct:
		for f, e := range v.Fields() {
			if (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" && replaces(e) {
				return true
			}
		}
	}
	return false
}

// asName is the name of a member as the encoder takes it: a string as it is, whatever methods
// it has.
func asName(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.String {
		return reflect.ValueOf(v.String())
	}
	return v
}

// byItself returns the text of a value that writes it itself; none of a json.RawMessage, which
// is right as it is. Such a method may call package encoding/json, too, so an escape in its
// text counts as a replacement.
func byItself(v reflect.Value) (text string, itself bool) {
	if v.CanAddr() {
		v = v.Addr()
	}
	if !v.CanInterface() {
		return "", false
	}
	switch x := v.Interface().(type) {
	case json.RawMessage, *json.RawMessage:
		return "", true
	case json.Marshaler, encoding.TextMarshaler:
		written, _ := json.Marshal(x) // which has worked before
		return string(written), true
	}
	return "", false
}

// escaped reports whether a text has the escape that stands for what was replaced.
func escaped(text string) bool {
	for {
		i := strings.IndexByte(text, '\\')
		switch {
		case i < 0:
			return false
		case strings.HasPrefix(text[i:], replacement):
			return true
		}
		text = text[i+2:]
	}
}

// half returns the first escape in a text that is one half of a surrogate pair without the
// other; empty if there is none.
func half(text string) string {
	for {
		i := strings.IndexByte(text, '\\')
		if i < 0 {
			return ""
		}
		first, is := surrogate(text[i:])
		if !is {
			text = text[i+2:]
			continue
		}
		second, _ := surrogate(text[i+6:])
		if utf16.DecodeRune(first, second) == utf8.RuneError {
			return text[i : i+6]
		}
		text = text[i+12:]
	}
}

// surrogate returns the half of a surrogate pair that a text begins with as an escape.
func surrogate(text string) (r rune, is bool) {
	if len(text) < 6 || text[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	return rune(n), err == nil && utf16.IsSurrogate(rune(n))
}
