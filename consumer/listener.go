package consumer

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/internal/worker/note"
	"github.com/slotmq/go-rmq/message"
)

// MessageListener handles the messages of one topic. Its return value is the
// protocol: nil means done; an error means that this delivery failed and the
// message is delivered again after its back-off, up to seventeen deliveries in
// all, and then is dead; the errors that rmq.Dead, RetryAfter, Later and Pushback return say
// otherwise. A panic is an error. Why the context of a handler has ended, its cause says: rmq.ErrClosing,
// ErrLeaseLost, ErrCancelled or ErrTimeout. Messages of one slot come one after the other, those of different
// slots at the same time.
//
// Delivery is at least once: a listener must bear to see a message twice.
type MessageListener interface {
	OnMessage(ctx context.Context, d *Delivery) error
}

// ListenerFunc is a function that is a MessageListener.
type ListenerFunc func(ctx context.Context, d *Delivery) error

// OnMessage calls f.
func (f ListenerFunc) OnMessage(ctx context.Context, d *Delivery) error { return f(ctx, d) }

// Delivery is one message on its way through OnMessage. It may be kept: no other
// message is ever written into it. If you keep one, its whole batch stays in
// memory; to keep many for long, copy what you need.
type Delivery struct {
	Topic   message.Topic
	Slot    int
	Content string
	Attempt int // 1 for the first delivery, up to 17

	// Last: it is dead if this delivery fails, by MaxAttempts.
	Last bool

	// Fence grows within the slot over all workers; the messages of one batch have
	// the same. A store that remembers the largest it has seen for an entity, and
	// refuses smaller ones, is safe from a worker that was frozen and overtaken.
	// Where Redis forgets its last writes, an older batch may come back with its older
	// number: docs/PROTOCOL.md says when.
	Fence int64

	// Priority it was sent with, of a Priority message. 0 if it is not known any
	// more: when Redis had to give the worker its batch a second time, and when
	// the worker of the first delivery died.
	Priority int64

	// Due is when a RangeMerge or FixedTime message was due, on its first delivery,
	// if [ListenOptions].Due is set. It is zero for a retry, for a Priority message,
	// and when Redis had to give the worker its batch a second time. A message that was
	// handed back keeps its time; by a worker without Due and MaxLate, it is due since
	// the second in which it was taken.
	Due time.Time

	// LastError is why the delivery before this one failed, in at most about 1000
	// bytes, and FirstFailure when the first of them did, by the clock of Redis.
	// Both are about this send of the message: empty on its first delivery, also
	// when an earlier copy of it has failed or is dead.
	LastError    string
	FirstFailure time.Time

	note *note.Note // nil: the topic has none
}

// Middleware wraps a listener, to measure or trace it.
type Middleware func(MessageListener) MessageListener
