package commands

import (
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/message"
)

// payload is a message before the kind of its topic is known: in flags, and in the lines of a
// batch. Fields that are not given are nil.
type payload struct {
	content, basis string
	merge, in      *time.Duration
	extend         bool
	ceiling        *time.Duration
	at             *time.Time
	priority       *int64
	unique         *time.Duration
	ttl            *time.Duration
	headers        map[string]string
}

// message makes the message for a topic.
func (p payload) message(t message.Topic) (message.Message, error) {
	given := 0
	for _, there := range []bool{p.merge != nil, p.in != nil, p.at != nil, p.priority != nil} {
		if there {
			given++
		}
	}
	if t.Kind != message.KindRangeMerge && (p.extend || p.ceiling != nil) {
		return nil, fmt.Errorf("%s is a %s topic: extend and ceiling are for range merges", legible(t.Name), t.Kind)
	}
	unique, ttl := or(p.unique, 0), or(p.ttl, 0)
	var m message.Message
	switch {
	case given != 1:
	case p.merge != nil && t.Kind == message.KindRangeMerge:
		m = message.RangeMerge{Content: p.content, SlotBasis: p.basis, Range: *p.merge, Extend: p.extend, Ceiling: or(p.ceiling, 0), Unique: unique, TTL: ttl, Headers: p.headers}
	case p.priority != nil && !t.Kind.Timed():
		m = message.Priority{Content: p.content, SlotBasis: p.basis, Priority: *p.priority, Unique: unique, TTL: ttl, Headers: p.headers}
	case p.at != nil && t.Kind == message.KindFixedTime:
		m = message.FixedTime{Content: p.content, SlotBasis: p.basis, At: *p.at, Unique: unique, TTL: ttl, Headers: p.headers}
	case p.in != nil && t.Kind == message.KindFixedTime:
		m = message.FixedTime{Content: p.content, SlotBasis: p.basis, In: *p.in, Unique: unique, TTL: ttl, Headers: p.headers}
		if *p.in == 0 { // which the message takes for not given
			return nil, errors.New("in is 0; it must be at least 1ms, or at a time")
		}
	}
	if m == nil {
		return nil, fmt.Errorf("%s is a %s topic: %s", legible(t.Name), t.Kind, needs[t.Kind])
	}
	_, err := checked.Open(t, m, longestContent)
	return m, err
}

// or is what is given, or else something.
func or[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// needs says what a message of a kind must have besides its content.
var needs = map[message.Kind]string{
	message.KindRangeMerge: "a message needs a range, and nothing else of range, in, at and priority",
	message.KindPriority:   "a message needs a priority, and nothing else of range, in, at and priority",
	message.KindFixedTime:  "a message needs a time, either in or at, and neither range nor priority",
}

// kindNames are the kinds, as they are written.
var kindNames = func() (names []string) {
	for _, kind := range message.Kinds() {
		names = append(names, kind.String())
	}
	return names
}()

func parseKind(name string) (message.Kind, error) {
	if kind, known := message.ParseKind(name); known {
		return kind, nil
	}
	return 0, errors.New("not " + alternatives(kindNames))
}
