package verdict

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/message"
)

// Rules are those of a topic, by which its messages are judged.
type Rules struct {
	Timeout    time.Duration
	Deliveries int // after so many a message that fails is dead
	Backoff    Backoff
	Literal    bool // no message waits for its retry
}

// Judge is the verdict on a message whose handler returned an error at a delivery, and how long the topic is to rest; 0 unless
// the handler has pushed it back. The Reason is whole: shorten it when contents were taken out. What Backoff panics with is
// for panicked.
func (r *Rules) Judge(ctx context.Context, delivery int, err error, panicked func(p any)) (v Verdict, rest time.Duration) {
	reason, over := fmt.Sprint(err), errors.Is(context.Cause(ctx), ErrTimeout) // Sprint bears an Error method that panics
	if over {
		reason = fmt.Sprintf("timed out after %v: %s", r.Timeout, reason) // it is "context canceled" as a rule
	}
	v = Verdict{Fate: Failed, Overload: over, Reason: reason, Err: withCause(ctx, err)}
	var retry retryError
	var later laterError
	var pushed pushbackError
	switch what := Outcome(ctx, Last(delivery, r.Deliveries), err); {
	case what == message.Dropped:
		return Cancelled, 0
	case what == message.HandedBack && as(err, &pushed):
		v.Fate = NotStarted
		return v, pushed.rest
	case what == message.HandedBack:
		return Verdict{}, 0 // as if it had not been started
	case what == message.Snoozed && as(err, &later):
		v.Fate, v.Delay = Snoozed, later.after
		return v, 0
	case what == message.Died:
		v.Fate = Dead
	case as(err, &retry):
		v.Delay = within(retry.after)
	default:
		v.Delay = r.Backoff.Ask(delivery, panicked)
	}
	if r.Literal {
		v.Delay = 0
	}
	return v, 0
}

// Blames reports whether an error, with what it has made of its message, may be the fault of what all handlers of the topic
// need: an error, a time-out, a panic. These are not: Dead, which is about this message; Later and Pushback, which are no
// failures; a message that was cancelled, or ended because the worker closes or lost its lease.
func Blames(ctx context.Context, f Fate, err error) bool {
	var declared deadError
	return !errors.Is(context.Cause(ctx), ErrLeaseLost) && (f == Failed || f == Dead && !as(err, &declared))
}

// withCause is what a listener returned, and why its context had ended, if it had: many
// return context.Canceled whatever the cause.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return errors.Join(err, cause)
	}
	return err
}
