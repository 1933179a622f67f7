package typed

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Codec turns values into contents and back. Equal values must have equal contents, or they
// do not merge.
type Codec[T any] interface {
	Encode(v T) (string, error)
	Decode(content string) (T, error)
}

// JSON is a codec for whatever package encoding/json can read and write. Contents are
// canonical, as RFC 8785 says: names sorted, no spaces, numbers and strings in their shortest
// form. So the order of a struct's fields does not matter, and programs in other languages
// that follow the RFC send the same contents. Numbers with a point or an exponent are float64,
// as in the RFC. Unlike there, whole numbers beyond 2^53 keep all their digits.
//
// A value that JSON cannot hold is refused, since it would merge with others: text that is not
// valid UTF-8, half a surrogate pair, two members of one name. Package encoding/json writes the
// escape \ufffd for what is not UTF-8. So this escape is refused, too, in a json.RawMessage, in
// what a json.Marshaler writes, and in a string that is a string of JSON itself: write the
// character U+FFFD. With GOEXPERIMENT=jsonv2 the package writes that character for what is not
// UTF-8, so all text with it is refused.
//
// Numbers in a value of type any, such as those of a map[string]any, reach the handler as
// float64, as with package encoding/json. That changes whole numbers beyond 2^53, so
// [Topic.Cancel] does not find the message by what the handler was given. Use a field of type
// int64, or json.Number.
func JSON[T any]() Codec[T] { return jsonCodec[T]{} }

type jsonCodec[T any] struct{}

func (jsonCodec[T]) Encode(v T) (string, error) {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return canonical(text.String())
}

func (jsonCodec[T]) Decode(content string) (v T, err error) {
	dec := json.NewDecoder(strings.NewReader(content))
	if err := dec.Decode(&v); err != nil {
		return v, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return v, errors.New("there is more after the value")
	}
	return v, nil
}

// Raw is a codec for strings and bytes, which are the content as they are.
func Raw[T ~string | ~[]byte]() Codec[T] { return rawCodec[T]{} }

type rawCodec[T ~string | ~[]byte] struct{}

func (rawCodec[T]) Encode(v T) (string, error)       { return string(v), nil }
func (rawCodec[T]) Decode(content string) (T, error) { return T(content), nil }

// Distinct is codec c with a random id in front of each content: no two messages merge, not
// even of the same value. A send that you repeat after an error is another message, so use it
// only where each send must be handled.
func Distinct[T any](c Codec[T]) Codec[T] { return distinct[T]{c} }

type distinct[T any] struct{ Codec[T] }

// distinctID is the length of the id, and the space after it.
const distinctID = 26 + 1

func (c distinct[T]) Encode(v T) (string, error) {
	content, err := c.Codec.Encode(v)
	if err != nil {
		return "", err
	}
	return rand.Text() + " " + content, nil
}

func (c distinct[T]) Decode(content string) (v T, err error) {
	if len(content) < distinctID || content[distinctID-1] != ' ' || !utf8.ValidString(content[:distinctID]) {
		return v, fmt.Errorf("it does not begin with an id of %d characters", distinctID-1)
	}
	return c.Codec.Decode(content[distinctID:])
}
