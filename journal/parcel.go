package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

// parcel is a message with the definition of its topic, as rmq_outbox keeps it. Times are in ms.
type parcel struct {
	Kind    string `json:"kind"`
	Slots   int    `json:"slots,omitempty"`
	Literal bool   `json:"literal,omitempty"`
	Notes   bool   `json:"notes,omitempty"`

	Content   words.Text      `json:"content"`
	SlotBasis words.Text      `json:"slot_basis,omitempty"`
	Priority  int64           `json:"priority,omitempty"`
	Range     int64           `json:"range,omitempty"`
	Ceiling   int64           `json:"ceiling,omitempty"`
	At        int64           `json:"at,omitempty"`
	In        int64           `json:"in,omitempty"`
	Unique    int64           `json:"unique,omitempty"`
	TTL       int64           `json:"ttl,omitempty"`
	Headers   json.RawMessage `json:"headers,omitempty"`
}

// pack writes a message as it is kept.
func pack(t message.Topic, c checked.Message) []byte {
	p := parcel{
		Kind: t.Kind.String(), Slots: t.Slots, Literal: t.Literal, Notes: t.Notes,
		Content: words.Text(c.Content), Ceiling: c.Ceiling, Unique: c.Unique, TTL: c.TTL,
	}
	if c.SlotBasis != c.Content {
		p.SlotBasis = words.Text(c.SlotBasis)
	}
	switch {
	case !c.Kind.Timed():
		p.Priority = c.Value
	case c.Kind.FirstWins():
		p.Range = c.Value
	case c.FromNow:
		p.In = c.Value
	default:
		p.At = c.Value
	}
	if _, headers, ok := strings.Cut(c.Note, " "); ok {
		p.Headers = json.RawMessage(headers)
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic("journal: " + err.Error()) // never: numbers and texts can always be written
	}
	return text
}

// unpack reads what pack has written. A field that it does not know is an error: a newer program
// has written it, and something would get lost.
func unpack(name string, text []byte) (message.Topic, message.Message, error) {
	var p parcel
	t := message.Topic{Name: name}
	from := json.NewDecoder(bytes.NewReader(text))
	from.DisallowUnknownFields()
	if err := from.Decode(&p); err != nil {
		return t, nil, err
	}
	kind, known := message.ParseKind(p.Kind)
	if !known {
		return t, nil, fmt.Errorf("kind %q is not known", p.Kind)
	}
	t.Kind, t.Slots, t.Literal, t.Notes = kind, p.Slots, p.Literal, p.Notes
	var headers map[string]string
	if len(p.Headers) > 0 {
		if err := json.Unmarshal(p.Headers, &headers); err != nil {
			return t, nil, err
		}
	}
	c := message.Common{Content: string(p.Content), SlotBasis: string(p.SlotBasis), Unique: millis(p.Unique), TTL: millis(p.TTL), Headers: headers}
	value, fromNow := p.At, false
	switch {
	case !kind.Timed():
		value = p.Priority
	case kind.FirstWins():
		value, fromNow = p.Range, true
	case p.In != 0:
		value, fromNow = p.In, true
	}
	return t, checked.Make(kind, c, value, fromNow, p.Ceiling), nil
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
