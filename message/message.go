package message

import "time"

// Message is one of [RangeMerge], [Priority] and [FixedTime], by value.
//
// Its Content is the message and also its identity: equal content in one slot is one
// message. Put the id in and let the handler look the rest up: contents that differ in
// one byte do not merge, such as two JSON texts with their fields in another order.
//
// A message with Unique keeps equal ones out for that time: another message with Unique, of the
// same content in the same slot, is a duplicate until then. Nothing is stored, and what waits
// stays as it is. The time begins when the message is stored or merges, by the clock of the Redis
// server, and goes on when the message was handled, has failed or is dead; only a cancel ends it.
// A message without Unique is never a duplicate and keeps none out, so send a content always with
// it or always without.
//
// In a topic with Notes a message may have a TTL and Headers, which are not a part of its
// identity. When the TTL after its send is over, by the clock of the Redis server, no handler is
// called for it any more. Where equal content merges, the latest of these ends counts, and a send
// without a TTL has no end: the message is wanted as long as one of its sends is. Its headers are
// those of the last send that has any: at most 64, and 8 KiB of keys and values together, in valid
// UTF-8.
//
// Send a content always with a TTL or always without. A message that waits for its retry, or is
// being handled, does not merge: a send of its content makes a new copy with its own TTL. If that
// copy is handled in the place of the older one, the TTL of the older one does not count.
type Message interface {
	sealed()
}

// RangeMerge is handled Range after the first send of its content. Equal
// content sent while it waits, overdue or not, merges into it and keeps the
// first time, or with Extend moves it on.
type RangeMerge struct {
	Content   string // what it is about, and its identity: see [Message]
	SlotBasis string // decides the slot; Content when empty
	Range     time.Duration

	// Extend makes each send of a content that waits move its time on: to Range after this
	// send, but not beyond Ceiling after the first one. What is overdue is never moved. By
	// the clock of the Redis server. Send a content always with the same three.
	Extend bool

	// Ceiling is required with Extend, and larger than Range. Without a ceiling, send a
	// FixedTime with In.
	Ceiling time.Duration

	Unique time.Duration // for how long an equal one is a duplicate; 0: it never is. See [Message]

	// TTL and Headers are only for topics with Notes: see [Message].
	TTL     time.Duration
	Headers map[string]string
}

// Priority is handled before every message of a smaller priority in its slot: a
// topic of one slot has one order, one of more has an order in each. Equal
// content merges and takes the last priority. Nothing is promised about the
// order of equal priorities, but none of them starves.
type Priority struct {
	Content   string // what it is about, and its identity: see [Message]
	SlotBasis string // decides the slot; Content when empty
	Priority  int64  // 17 … 2^53 − 1

	Unique time.Duration // for how long an equal one is a duplicate; 0: it never is. See [Message]

	// TTL and Headers are only for topics with Notes: see [Message].
	TTL     time.Duration
	Headers map[string]string
}

// FixedTime is never handled before its time; the oldest due goes first. Equal
// content merges and takes the last time. Exactly one of At and In is given.
type FixedTime struct {
	Content   string // what it is about, and its identity: see [Message]
	SlotBasis string // decides the slot; Content when empty

	// At is when it is due. A time that has passed is due now, ahead of what is
	// due later, or refused where the listener has a MaxLate and would find it too late.
	At time.Time

	// In is how long after the send it is due, by the clock of the Redis server:
	// the clock of the sender does not matter. At least 1 ms; 0 if At is given.
	In time.Duration

	Unique time.Duration // for how long an equal one is a duplicate; 0: it never is. See [Message]

	// TTL and Headers are only for topics with Notes: see [Message].
	TTL     time.Duration
	Headers map[string]string
}

func (RangeMerge) sealed() {}
func (Priority) sealed()   {}
func (FixedTime) sealed()  {}

// Common is what messages of all kinds have: see [Message].
type Common struct {
	Content, SlotBasis string
	Unique, TTL        time.Duration
	Headers            map[string]string
}

// CommonOf returns what a message has in common with those of other kinds, for middleware that
// looks at any message. It is false for what a send refuses: nil, and a pointer.
func CommonOf(m Message) (Common, bool) {
	switch m := m.(type) {
	case RangeMerge:
		return Common{m.Content, m.SlotBasis, m.Unique, m.TTL, m.Headers}, true
	case Priority:
		return Common{m.Content, m.SlotBasis, m.Unique, m.TTL, m.Headers}, true
	case FixedTime:
		return Common{m.Content, m.SlotBasis, m.Unique, m.TTL, m.Headers}, true
	}
	return Common{}, false
}

// With is a message with other such fields. It is nil for what a send refuses.
func With(m Message, c Common) Message {
	switch m := m.(type) {
	case RangeMerge:
		m.Content, m.SlotBasis, m.Unique, m.TTL, m.Headers = c.Content, c.SlotBasis, c.Unique, c.TTL, c.Headers
		return m
	case Priority:
		m.Content, m.SlotBasis, m.Unique, m.TTL, m.Headers = c.Content, c.SlotBasis, c.Unique, c.TTL, c.Headers
		return m
	case FixedTime:
		m.Content, m.SlotBasis, m.Unique, m.TTL, m.Headers = c.Content, c.SlotBasis, c.Unique, c.TTL, c.Headers
		return m
	}
	return nil // and not m: then each message of each Send would need memory of its own
}
