package wire

import (
	"fmt"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/message"
)

// Draft is a message before the kind of its topic is known. Fields that are not given are nil.
type Draft struct {
	Content, Basis string
	Range, In      *time.Duration
	Extend         bool
	Ceiling        *time.Duration
	At             *time.Time
	Priority       *int64
	Unique         *time.Duration
	TTL            *time.Duration
	Headers        map[string]string
}

// Message makes the message for a topic. It checks everything but what needs the clock of the Redis server. The limit
// of its content is that of all programs, since one may have a larger limit than the next.
func (d Draft) Message(t message.Topic) (message.Message, error) {
	if err := d.checkExtend(t); err != nil {
		return nil, err
	}
	given := d.given()
	unique, ttl := or(d.Unique, 0), or(d.TTL, 0)
	var m message.Message
	switch {
	case len(given) != 1:
	case d.Range != nil && t.Kind == message.KindRangeMerge:
		m = message.RangeMerge{Content: d.Content, SlotBasis: d.Basis, Range: *d.Range, Extend: d.Extend, Ceiling: or(d.Ceiling, 0), Unique: unique, TTL: ttl, Headers: d.Headers}
	case d.Priority != nil && t.Kind == message.KindPriority:
		m = message.Priority{Content: d.Content, SlotBasis: d.Basis, Priority: *d.Priority, Unique: unique, TTL: ttl, Headers: d.Headers}
	case d.At != nil && t.Kind == message.KindFixedTime:
		m = message.FixedTime{Content: d.Content, SlotBasis: d.Basis, At: *d.At, Unique: unique, TTL: ttl, Headers: d.Headers}
	case d.In != nil && t.Kind == message.KindFixedTime:
		in := *d.In
		if in == 0 { // now; the message takes it for not given
			in = time.Millisecond
		}
		m = message.FixedTime{Content: d.Content, SlotBasis: d.Basis, In: in, Unique: unique, TTL: ttl, Headers: d.Headers}
	}
	if m == nil {
		n := needs[t.Kind]
		value := strings.Join(given, " and ") + " given"
		if len(given) == 0 {
			value = "missing"
		}
		return nil, &FieldError{Field: n.field, Value: value, Limit: n.limit, text: fmt.Sprintf("%s is a %s topic: a message needs %s", t.Name, t.Kind, n.limit)}
	}
	_, err := checked.Open(t, m, limits.ContentBytes)
	return m, err
}

// checkExtend refuses extend and ceiling in a topic without range merges.
func (d Draft) checkExtend(t message.Topic) error {
	if t.Kind == message.KindRangeMerge || !d.Extend && d.Ceiling == nil {
		return nil
	}
	field := "extend"
	if !d.Extend {
		field = "ceiling"
	}
	return &FieldError{Field: field, Value: "given", Limit: "left out in a " + t.Kind.String() + " topic",
		text: fmt.Sprintf("%s is a %s topic: extend and ceiling are for range merges", t.Name, t.Kind)}
}

// given are the fields that were given, of those that say when: a message needs one.
func (d *Draft) given() (names []string) {
	for _, f := range [...]struct {
		name  string
		there bool
	}{{"range", d.Range != nil}, {"in", d.In != nil}, {"at", d.At != nil}, {"priority", d.Priority != nil}} {
		if f.there {
			names = append(names, f.name)
		}
	}
	return names
}

// needs says what a message of a kind must have besides its content.
var needs = map[message.Kind]struct{ field, limit string }{
	message.KindRangeMerge: {"range", "a range, and nothing else of range, in, at and priority"},
	message.KindPriority:   {"priority", "a priority, and nothing else of range, in, at and priority"},
	message.KindFixedTime:  {"in", "a time, either in or at, and neither range nor priority"},
}

// or is what is given, or else something.
func or[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}
