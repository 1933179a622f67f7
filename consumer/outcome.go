package consumer

import (
	"context"

	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// OutcomeOf returns what becomes of a message whose listener has returned err: Done, Failed,
// Died, Snoozed after rmq.Later, Dropped if it was cancelled, or HandedBack after rmq.Pushback or
// if the worker is closing. It is for a [Middleware], with what that was given and what the listener inside
// returned.
//
// It is what the worker will ask of Redis, if the middleware returns the same error. Only a
// [message.Observer] learns whether Redis has done it: the batch may be taken over before
// that, and then the message comes again.
func OutcomeOf(ctx context.Context, d *Delivery, err error) message.What {
	if err == nil {
		return message.Done
	}
	return verdict.Outcome(ctx, d.Last, err)
}
