package wire

import (
	"encoding/base64"
	"fmt"
	"time"
	"unicode/utf8"
)

// Shown is a content: as text if it is UTF-8, else in the field content_base64. It is to be
// embedded.
type Shown struct {
	Content *string `json:"content,omitempty"`
	Base64  string  `json:"content_base64,omitempty"`
}

// Show returns a content as it is written. With inBase64 it is so in any case.
func Show(content string, inBase64 bool) Shown {
	if inBase64 || !utf8.ValidString(content) {
		return Shown{Base64: base64.StdEncoding.EncodeToString([]byte(content))}
	}
	return Shown{Content: &content}
}

// Stamp is a time: RFC 3339 in UTC, with milliseconds. With omitzero no time is left out.
type Stamp struct{ time.Time }

// At is the stamp of a time.
func At(t time.Time) Stamp { return Stamp{Time: t} }

func (s Stamp) MarshalJSON() ([]byte, error) {
	return []byte(s.UTC().Format(`"2006-01-02T15:04:05.000Z"`)), nil
}

// Millis is a duration. The name of its field ends with _ms.
type Millis time.Duration

func (m Millis) MarshalJSON() ([]byte, error) {
	return fmt.Append(nil, time.Duration(m).Milliseconds()), nil
}
