package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// BatchListener handles messages of one topic together: those of one slot that could be
// taken at once, in one call. It names the messages that fail, by [Batch.Fail],
// [Batch.Dead] and [Batch.RetryAfter], and those that it wants later by [Batch.Later]. What
// it returns is about all others: nil means done, an error the same as with a
// [MessageListener]. A panic is an error.
//
// A message that has failed comes again alone, in a Batch of one, however it failed: so
// what keeps failing harms no other. Delivery is at least once: when a worker dies, all
// messages of its call come again, one by one.
type BatchListener interface {
	OnBatch(ctx context.Context, b *Batch) error
}

// BatchFunc is a function that is a BatchListener.
type BatchFunc func(ctx context.Context, b *Batch) error

// OnBatch calls f.
func (f BatchFunc) OnBatch(ctx context.Context, b *Batch) error { return f(ctx, b) }

// BatchMiddleware wraps a batch listener, to measure or trace it.
type BatchMiddleware func(BatchListener) BatchListener

// Batch is the messages of one call of a BatchListener: first deliveries, or one retry
// alone. They are in the order in which they would be handled one by one.
type Batch struct {
	Topic    message.Topic
	Slot     int
	Attempt  int         // of each message
	Fence    int64       // of each message: see [Delivery]
	Messages []*Delivery // leave the slice as it is: the methods count in it

	mu    sync.Mutex
	named []error // of each message; nil: what the listener returns is about it, too
}

// Fail says that message i failed. What err is means the same as if a [MessageListener]
// had returned it; nil is a failure, too. Fail may be called at the same time for several
// messages, until the listener returns; the last call for a message counts.
func (b *Batch) Fail(i int, err error) {
	if err == nil {
		err = errNamed
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.named == nil {
		b.named = make([]error, len(b.Messages))
	}
	b.named[i] = err
}

// Dead says that no retry can mend message i: see rmq.Dead.
func (b *Batch) Dead(i int, err error) { b.Fail(i, verdict.DeadError(err)) }

// RetryAfter says that message i is to come again after d: see rmq.RetryAfter.
func (b *Batch) RetryAfter(i int, d time.Duration, err error) { b.Fail(i, verdict.RetryError(d, err)) }

// Later says that message i is to come again after d, and that this delivery does not count:
// see rmq.Later.
func (b *Batch) Later(i int, d time.Duration) { b.Fail(i, verdict.LaterError(d)) }

// Outcome returns what becomes of message i when the listener has returned err: what
// [OutcomeOf] says of err, or of the error that Fail, Dead, RetryAfter or Later gave to message
// i. It is for a [BatchMiddleware], with the context of its call and after the listener inside
// has returned.
func (b *Batch) Outcome(ctx context.Context, i int, err error) message.What {
	return OutcomeOf(ctx, b.Messages[i], b.endOf(i, err))
}

// errNamed is the failure of a message that its listener gave no reason for.
var errNamed = errors.New("failed, as its listener says")

// end returns what became of each message when the listener has returned err.
func (b *Batch) end(err error) []error {
	all := make([]error, len(b.Messages))
	for i := range all {
		all[i] = b.endOf(i, err)
	}
	return all
}

// endOf returns what became of message i when the listener has returned err.
func (b *Batch) endOf(i int, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.named != nil && b.named[i] != nil {
		return b.named[i]
	}
	return err
}

// BatchOptions of one topic whose messages are handled together. What [ListenOptions] say of a
// handler is about a call here: Timeout is that of a call, and Concurrency is how many calls
// run at once. Parallel is refused.
type BatchOptions struct {
	ListenOptions

	// Most is how many messages one call has at the most. They have 1 MiB of contents
	// together at the most, too, unless it is one alone. Defaults to 256, which is the
	// largest.
	Most int

	// Gather is how long a slot that has a message to handle waits for more of them. It
	// waits again after each call, unless that had Most messages. So a message is handled
	// up to Gather later than without; longer only if its slot goes to another worker,
	// which waits anew. The wait holds up no other slot. At most 1 minute, and less than
	// MaxLate, if that is set. Defaults to 0: what is there is handled.
	Gather time.Duration

	// SameDue cuts a batch into several calls, so that no two messages of a call were due
	// further apart. It fills Delivery.Due in, as Due does. A message whose Due is not known
	// has a call of its own. It is refused for topics of the Priority kind. Defaults to 0:
	// nothing is cut.
	SameDue time.Duration
}

// mostGather bounds how late Gather may make a message.
const mostGather = time.Minute

func (o BatchOptions) withDefaults(c Config) BatchOptions {
	o.ListenOptions = o.ListenOptions.withDefaults(c)
	if o.Most == 0 {
		o.Most = protocol.MaxBatch
	}
	o.Due = o.Due || o.SameDue > 0
	return o
}

func (o BatchOptions) validate(t message.Topic) error {
	switch {
	case o.Parallel:
		return refuse("BatchOptions.Parallel", true, "false: a batch listener gets the messages of a slot together")
	case o.Most < 1 || o.Most > protocol.MaxBatch:
		return refuse("BatchOptions.Most", o.Most, fmt.Sprintf("1 to %d, or 0 for %[1]d", protocol.MaxBatch))
	case o.Gather != 0 && o.Gather < time.Millisecond || o.Gather > mostGather:
		return refuse("BatchOptions.Gather", o.Gather, "1ms to 1m, or 0 for no wait")
	case t.Kind.Timed() && o.MaxLate > 0 && o.MaxLate <= o.Gather:
		return refuse("BatchOptions.MaxLate", o.MaxLate, fmt.Sprintf("more than Gather, %v: it makes what is on time that late", o.Gather))
	case o.SameDue != 0 && o.SameDue < time.Millisecond:
		return refuse("BatchOptions.SameDue", o.SameDue, "1ms or more, or 0")
	case o.SameDue != 0 && !t.Kind.Timed():
		return refuse("BatchOptions.SameDue", o.SameDue, "0: messages of a Priority topic are not due at a time")
	}
	return o.ListenOptions.validate(t)
}
