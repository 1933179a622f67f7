package wire

import (
	"time"

	"github.com/slotmq/go-rmq/internal/text/humantime"
)

// Message is a message as it is sent: a line of rmq send --batch, and what the gateway is asked to send.
// What it has depends on the kind of the topic: see [Draft.Message].
type Message struct {
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

// ParseTime reads a time. The one of package humantime fits.
type ParseTime func(text string) (time.Time, error)

// ReadMessage reads the JSON text of one. What it leaves out is as in another draft.
func ReadMessage(text []byte, otherwise Draft, parse ParseTime) (Draft, error) {
	var m Message
	if err := read(text, &m); err != nil {
		return otherwise, err
	}
	return m.Draft(otherwise, parse)
}

// Draft reads the texts of a message. What it leaves out is as in another draft.
func (m *Message) Draft(otherwise Draft, parse ParseTime) (Draft, error) {
	d := otherwise
	switch {
	case m.Content != nil && m.Base64 == nil:
		d.Content = *m.Content
	case m.Base64 != nil && m.Content == nil:
		d.Content = string(*m.Base64)
	default:
		return otherwise, &FieldError{Field: "content", Value: howMany(m.Content != nil), Limit: "given, or else content_base64", text: "it needs either content or content_base64"}
	}
	if m.Basis != nil {
		d.Basis = *m.Basis
	}
	if m.Range != nil || m.In != nil || m.At != nil || m.Priority != nil {
		d.Range, d.In, d.At, d.Priority = nil, nil, nil, m.Priority
	}
	if m.Extend != nil {
		d.Extend = *m.Extend
	}
	if m.Headers != nil {
		d.Headers = m.Headers
	}
	for _, f := range [...]struct {
		name string
		text *string
		to   **time.Duration
	}{
		{"range", m.Range, &d.Range}, {"ceiling", m.Ceiling, &d.Ceiling}, {"in", m.In, &d.In}, {"unique", m.Unique, &d.Unique}, {"ttl", m.TTL, &d.TTL},
	} {
		if err := replace(f.to, f.name, f.text, "a duration such as 90s, 1h30m or 7d", humantime.ParseSpan); err != nil {
			return otherwise, err
		}
	}
	return d, replace(&d.At, "at", m.At, "a time such as 2026-01-31T15:04:05Z", parse)
}

func howMany(both bool) string {
	if both {
		return "there beside content_base64"
	}
	return "missing"
}

// replace sets a field to the value of a text, if there is one.
func replace[T time.Duration | time.Time](field **T, name string, text *string, limit string, parse func(string) (T, error)) error {
	if text == nil {
		return nil
	}
	value, err := parse(*text)
	if err != nil {
		return unparsed(name, *text, limit, err)
	}
	*field = &value
	return nil
}
