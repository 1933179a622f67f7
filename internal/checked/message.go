// Package checked validates what a program passes in, and takes a message apart. Its
// errors are a [message.InvalidError] each: the field, its value, and the limit.
package checked

import (
	"context"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/message"
)

// sent marks a context.
type sent struct{}

// Sent is a context for messages that were sent before, into an outbox or to another topic. Their listener decides
// whether they are late by now.
func Sent(ctx context.Context) context.Context { return context.WithValue(ctx, sent{}, true) }

// IsSent reports whether ctx is of Sent.
func IsSent(ctx context.Context) bool { return ctx.Value(sent{}) != nil }

// Message is a valid message taken apart: what its kinds have in common, and the one
// number that is special to each.
type Message struct {
	Kind      message.Kind
	Content   string
	SlotBasis string // never empty
	// Value is the priority, or when the message is due: in ms since 1970, or
	// FromNow in ms after the server's time at the send. Parts of a millisecond
	// are rounded up: never early.
	Value   int64
	FromNow bool
	TTL     int64  // how long it may live, in ms; 0: for ever
	Note    string // what a topic with notes keeps of it: see protocol.NoteArg
	Unique  int64  // for how many ms an equal one is a duplicate; 0: none ever is
	Ceiling int64  // ms after its first send beyond which later ones do not move it; 0: they never do
}

// Open validates m for topic t and takes it apart. maxContent bounds the content in
// bytes. It does not check whether its time has passed: see [Message.Past].
func Open(t message.Topic, m message.Message, maxContent int) (Message, error) {
	common, ok := message.CommonOf(m)
	if !ok {
		return Message{}, unknown(m == nil)
	}
	c := Message{Content: common.Content, SlotBasis: common.SlotBasis}
	err := c.setKind(m)
	if c.Kind != t.Kind {
		return c, Invalid("Message", c.Kind.String(), "of the kind of topic "+Quote(t.Name)+": "+t.Kind.String())
	}
	if err != nil {
		return c, err
	}
	if n := len(c.Content); n == 0 || n > maxContent {
		return c, Invalid("Content", strconv.Itoa(n)+" bytes long", "1 to "+strconv.Itoa(maxContent)+" bytes")
	}
	if c.SlotBasis == "" {
		c.SlotBasis = c.Content
	}
	if common.Unique != 0 {
		if err = span("Unique", common.Unique); err != nil {
			return c, err
		}
		c.Unique = ceilMillis(common.Unique)
	}
	if common.TTL != 0 || len(common.Headers) > 0 {
		c.Note, err = c.note(t, common.TTL, common.Headers)
	}
	return c, err
}

// setKind sets the kind, and what it alone has. It is a type switch and no method call, so that
// a message passed by value need not be moved to the heap.
func (c *Message) setKind(m message.Message) (err error) {
	switch m := m.(type) {
	case message.RangeMerge:
		c.Kind, c.Value, c.FromNow = message.KindRangeMerge, ceilMillis(m.Range), true
		if err = span("Range", m.Range); err == nil && (m.Extend || m.Ceiling != 0) {
			c.Ceiling, err = ceilMillis(m.Ceiling), ceiling(m)
		}
	case message.Priority:
		c.Kind, c.Value = message.KindPriority, m.Priority
		err = Priority(m.Priority)
	case message.FixedTime:
		c.Kind, c.Value = message.KindFixedTime, ceilUnixMilli(m.At)
		if err = Due(m.At, m.In); m.In != 0 {
			c.Value, c.FromNow = ceilMillis(m.In), true
		}
	}
	return err
}

// unknown refuses what is no message.
func unknown(none bool) error {
	if none {
		return Invalid("Message", "nil", "a RangeMerge, a Priority or a FixedTime")
	}
	return Invalid("Message", "a pointer", "a RangeMerge, a Priority or a FixedTime, by value")
}

// Make is the message of a kind that has such a value, as Open has it. It checks nothing.
func Make(k message.Kind, c message.Common, value int64, fromNow bool, ceiling int64) message.Message {
	var m message.Message
	switch span := time.Duration(value) * time.Millisecond; k {
	case message.KindRangeMerge:
		m = message.RangeMerge{Range: span, Extend: ceiling != 0, Ceiling: time.Duration(ceiling) * time.Millisecond}
	case message.KindPriority:
		m = message.Priority{Priority: value}
	case message.KindFixedTime:
		if fromNow {
			m = message.FixedTime{In: span}
		} else {
			m = message.FixedTime{At: time.UnixMilli(value)}
		}
	}
	return message.With(m, c)
}

// Past reports whether the message has a time that is over at now, the time of
// the server that will store it.
func (c *Message) Past(now time.Time) bool {
	return c.Kind.Timed() && !c.FromNow && c.Value <= now.UnixMilli()
}

func ceilMillis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

func ceilUnixMilli(t time.Time) int64 {
	return t.Add(time.Millisecond - 1).UnixMilli()
}
