package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// FieldError is about a field that is not as it must be.
type FieldError struct {
	Field string
	Value string // what it is
	Limit string // what it must be
	text  string
}

func (e *FieldError) Error() string { return e.text }

func unparsed(name, text, limit string, err error) error {
	return &FieldError{Field: name, Value: text, Limit: limit, text: fmt.Sprintf("%s is %q, %v", name, text, err)}
}

// read reads one JSON object, and nothing behind it. It refuses what the parser of Go would silently replace, and fields
// that are not known: one that is misspelt would be missing.
func read(text []byte, into any) error {
	if err := Faithful(text); err != nil {
		return err
	}
	if !bytes.HasPrefix(text, []byte("{")) {
		return errors.New(`it is not a JSON object; a line is as {"content": "order 4711", "priority": 500}`)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return Plainer(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the JSON object; each one needs a line of its own")
	}
	return Keys(text)
}

// Faithful is an error about a JSON text if the parser would silently replace a part of it, so that another content
// would be sent.
func Faithful(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("it is not UTF-8; write such contents as content_base64")
	}
	if half := halfCharacter(text); half != "" {
		return fmt.Errorf("%s is half a character, without the other one; write such contents as content_base64", half)
	}
	return nil
}

// halfCharacter finds an escape of JSON, such as \ud800, that is only half a character: the
// second escape is missing.
func halfCharacter(text []byte) string {
	for i := 0; ; i++ {
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			return ""
		}
		i += next
		first, ok := escaped(text[i:])
		if !ok || !utf16.IsSurrogate(first) {
			i++ // what is escaped, as a \ may be
			if i >= len(text) {
				return ""
			}
			continue
		}
		const length = len(`\ud800`)
		second, _ := escaped(text[i+length:])
		if utf16.DecodeRune(first, second) == unicode.ReplacementChar {
			return string(text[i : i+length])
		}
		i += 2*length - 1
	}
}

// escaped returns the number of an escape such as \u003f at the beginning of a text.
func escaped(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

// Plainer rewrites an error of the parser in plain words.
func Plainer(err error) error {
	var wrong *json.UnmarshalTypeError
	var base base64.CorruptInputError
	why := strings.TrimPrefix(err.Error(), "json: ")
	name, unknown := strings.CutPrefix(why, "unknown field ")
	switch {
	case errors.As(err, &wrong) && wrong.Field == "headers", errors.As(err, &wrong) && strings.HasPrefix(wrong.Field, "headers."):
		return &FieldError{Field: "headers", Value: wrong.Value, Limit: "an object of texts", text: "headers is not an object of texts"}
	case errors.As(err, &wrong) && wrong.Field == "":
		return fmt.Errorf("it is %s and not a JSON object", WithArticle(wrong.Value))
	case errors.As(err, &wrong):
		limit := typeName(wrong.Type)
		if durations[wrong.Field] {
			limit = "a text such as \"90s\""
		}
		return &FieldError{Field: wrong.Field, Value: wrong.Value, Limit: limit, text: fmt.Sprintf("%s is %s; it must be %s", wrong.Field, WithArticle(wrong.Value), limit)}
	case unknown:
		return &FieldError{Field: strings.Trim(name, `"`), Value: "unknown", Limit: "a field that is known here", text: "it cannot be read: " + why}
	case errors.As(err, &base): // of the only field that is
		return &FieldError{Field: "content_base64", Value: "another text", Limit: "base64", text: "it cannot be read: " + why}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON object has no end")
	}
	return fmt.Errorf("it cannot be read: %s", why)
}

// durations are the fields that programs take for numbers of seconds.
var durations = map[string]bool{"range": true, "ceiling": true, "in": true, "unique": true, "ttl": true, "ttr": true, "wait": true}

// WithArticle is what the parser calls a value, such as "array", in a sentence.
func WithArticle(value string) string {
	if strings.HasPrefix(value, "array") || strings.HasPrefix(value, "object") {
		return "an " + value
	}
	return "a " + value
}

// typeName is what the type of a field is called in JSON.
func typeName(t reflect.Type) string {
	if t == reflect.TypeFor[[]byte]() {
		return "a text in base64"
	}
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Float64:
		return "a number"
	}
	return "a whole number"
}
