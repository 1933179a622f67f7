package rmq

import "github.com/slotmq/go-rmq/message"

// Topic is a name and what is sent to it. A topic keeps its definition for ever: a
// program with another one gets ErrTopicConflict.
//
//	type Topic struct {
//		Name    string // 1 to 200 bytes, without '{', '}' and '/'
//		Kind    Kind   // of its messages
//		Slots   int    // a power of two up to 65536; 0: what the topic has, or 64 if it is new
//		Literal bool   // a failed message goes straight back to the others, without a Backoff
//		Notes   bool   // how often and when a message was sent is kept, for TTL, Headers and Delivery.Sends
//	}
//
// Messages of one slot are handled one at a time in the whole cluster. So Slots is also
// the largest number of handlers that work at the topic at once.
type Topic = message.Topic

// Kind says what the messages of a topic wait for.
type Kind = message.Kind

// The kinds of topics.
const (
	// KindRangeMerge is for RangeMerge messages: equal ones that are sent within a
	// range of time are handled once, at its end.
	KindRangeMerge = message.KindRangeMerge

	// KindPriority is for Priority messages: the largest first.
	KindPriority = message.KindPriority

	// KindFixedTime is for FixedTime messages: each at its time, never early.
	KindFixedTime = message.KindFixedTime
)

// Message is a RangeMerge, a Priority or a FixedTime, by value.
//
// Its Content is also its identity: equal content in one slot is one message. Put the id
// of your order, user or document in, and let the handler look the rest up. Contents that
// differ in one byte do not merge.
type Message = message.Message

// RangeMerge is handled once, Range after the first send of its content. What you send
// meanwhile merges into it. With Extend it is handled Range after the last send, but no later than
// Ceiling after the first.
//
//	type RangeMerge struct {
//		Content   string            // what it is about, and its identity
//		SlotBasis string            // equal ones are in one slot; Content when empty
//		Range     time.Duration     // 1 ms to 10 years
//		Extend    bool              // each send moves it, unless it is overdue
//		Ceiling   time.Duration     // with Extend: larger than Range, up to 10 years
//		Unique    time.Duration     // for how long an equal one is a duplicate; 0: it never is
//		TTL       time.Duration     // after which it is not handled; for topics with Notes
//		Headers   map[string]string // for its handler; for topics with Notes
//	}
type RangeMerge = message.RangeMerge

// Priority is handled before every message of a smaller priority in its slot. Sent again
// while it waits, it takes the new priority.
//
//	type Priority struct {
//		Content   string            // what it is about, and its identity
//		SlotBasis string            // equal ones are in one slot; Content when empty
//		Priority  int64             // 17 to 2^53 - 1
//		Unique    time.Duration     // for how long an equal one is a duplicate; 0: it never is
//		TTL       time.Duration     // after which it is not handled; for topics with Notes
//		Headers   map[string]string // for its handler; for topics with Notes
//	}
type Priority = message.Priority

// FixedTime is handled at its time or soon after it, never before. Sent again while it
// waits, it takes the new time.
//
//	type FixedTime struct {
//		Content   string            // what it is about, and its identity
//		SlotBasis string            // equal ones are in one slot; Content when empty
//		At        time.Time         // when it is due: either At or In
//		In        time.Duration     // how long after the send, by the clock of Redis
//		Unique    time.Duration     // for how long an equal one is a duplicate; 0: it never is
//		TTL       time.Duration     // after which it is not handled; for topics with Notes
//		Headers   map[string]string // for its handler; for topics with Notes
//	}
type FixedTime = message.FixedTime
