package commands

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// object prints a line of JSON.
func (a *app) object(v any) error {
	var b bytes.Buffer
	err := addLine(&b, v)
	if err == nil {
		_, err = a.out.Write(b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// addLine adds a line of JSON, with its end. What is not printable is escaped in it, also what
// JSON itself would leave as it is: a terminal obeys some of it, and some turns text around.
func addLine(b *bytes.Buffer, v any) error {
	begin := b.Len()
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	line := bytes.TrimSuffix(b.Bytes()[begin:], []byte("\n"))
	if !bytes.ContainsFunc(line, unprintable) {
		return nil
	}
	text := string(line)
	b.Truncate(begin)
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case !unprintable(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
	return b.WriteByte('\n')
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// shown is a content in JSON: as text if it is UTF-8, else, or with --base64, in the field
// content_base64. It is to be embedded.
type shown struct {
	Content *string `json:"content,omitempty"`
	Base64  string  `json:"content_base64,omitempty"`
}

func (a *app) shown(content string) shown {
	if a.base64 || !utf8.ValidString(content) {
		return shown{Base64: base64.StdEncoding.EncodeToString([]byte(content))}
	}
	return shown{Content: &content}
}

// stamp is a time in JSON: RFC 3339 in UTC, with milliseconds. With omitzero no time is
// left out.
type stamp struct{ time.Time }

func (s stamp) MarshalJSON() ([]byte, error) {
	return []byte(s.UTC().Format(`"2006-01-02T15:04:05.000Z"`)), nil
}

// millis is a duration in JSON. The name of its field ends with _ms.
type millis time.Duration

func (m millis) MarshalJSON() ([]byte, error) {
	return fmt.Append(nil, time.Duration(m).Milliseconds()), nil
}
