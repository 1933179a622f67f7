package commands

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/slotmq/go-rmq/internal/humantime"
)

// batchLine is one line of the input of rmq send --batch.
type batchLine struct {
	Content  *string           `json:"content"`
	Base64   *[]byte           `json:"content_base64"`
	Basis    *string           `json:"basis"`
	Range    *string           `json:"range"`
	Extend   *bool             `json:"extend"`
	Ceiling  *string           `json:"ceiling"`
	In       *string           `json:"in"`
	At       *string           `json:"at"`
	Priority *int64            `json:"priority"`
	Unique   *string           `json:"unique"`
	TTL      *string           `json:"ttl"`
	Headers  map[string]string `json:"headers"`

	// Other fields that rmq dead export writes. They are ignored here.
	Slot     any `json:"slot"`
	Died     any `json:"died"`
	Attempts any `json:"attempts"`
	First    any `json:"first_failure"`
	Last     any `json:"last_failure"`
	Worker   any `json:"worker"`
	Reason   any `json:"reason"`
}

// parseLine reads one line. Flags give what the line leaves out.
func parseLine(line []byte, flags payload) (payload, error) {
	var l batchLine
	// The parser would silently replace such bytes, and another content would be sent.
	if !utf8.Valid(line) {
		return flags, errors.New("it is not UTF-8; write such contents as content_base64")
	}
	if half := halfCharacter(line); half != "" {
		return flags, fmt.Errorf("%s is half a character, without the other one; write such contents as content_base64", half)
	}
	if !bytes.HasPrefix(line, []byte("{")) {
		return flags, errors.New(`it is not a JSON object; a line is as {"content": "order 4711", "priority": 500}, see the help of send`)
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields() // one that is misspelt would be missing
	if err := decoder.Decode(&l); err != nil {
		return flags, plainer(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return flags, errors.New("there is something behind the JSON object")
	}
	p := flags
	switch {
	case l.Content != nil && l.Base64 == nil:
		p.content = *l.Content
	case l.Base64 != nil && l.Content == nil:
		p.content = string(*l.Base64)
	default:
		return flags, errors.New("it needs either content or content_base64")
	}
	if l.Basis != nil {
		p.basis = *l.Basis
	}
	if l.Range != nil || l.In != nil || l.At != nil || l.Priority != nil {
		p.merge, p.in, p.at, p.priority = nil, nil, nil, l.Priority
	}
	p.extend = or(l.Extend, p.extend)
	for _, f := range []struct {
		name string
		text *string
		to   **time.Duration
	}{
		{"range", l.Range, &p.merge}, {"ceiling", l.Ceiling, &p.ceiling}, {"in", l.In, &p.in}, {"unique", l.Unique, &p.unique}, {"ttl", l.TTL, &p.ttl},
	} {
		if err := replace(f.to, f.name, f.text, humantime.ParseSpan); err != nil {
			return flags, err
		}
	}
	if err := replace(&p.at, "at", l.At, humantime.ParseInstant); err != nil {
		return flags, err
	}
	if l.Headers != nil {
		p.headers = l.Headers
	}
	return p, nil
}

// halfCharacter finds an escape of JSON, such as \ud800, that is only half a character: the
// second escape is missing. The parser would silently replace it.
func halfCharacter(line []byte) string {
	for i := 0; i < len(line); i++ {
		if line[i] != '\\' {
			continue
		}
		first, ok := escaped(line[i:])
		if !ok || !utf16.IsSurrogate(first) {
			i++ // what is escaped, as a \ may be
			continue
		}
		const length = len(`\ud800`)
		second, _ := escaped(line[i+length:])
		if utf16.DecodeRune(first, second) == unicode.ReplacementChar {
			return string(line[i : i+length])
		}
		i += 2*length - 1
	}
	return ""
}

// escaped returns the number of an escape such as \u003f at the beginning of a text.
func escaped(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

// replace has a field be what the text of a line says, if the line has it.
func replace[T time.Duration | time.Time](field **T, name string, text *string, parse func(string) (T, error)) error {
	if text == nil {
		return nil
	}
	value, err := parse(*text)
	if err != nil {
		return fmt.Errorf("%s is %q, %w", name, *text, err)
	}
	*field = &value
	return nil
}

// plainer rewrites an error of the parser in the words of this command.
func plainer(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "headers":
		return errors.New("headers is not an object of texts")
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%s is a %s", wrong.Field, wrong.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON object has no end")
	}
	return fmt.Errorf("it cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
}
