package consumer

import (
	"context"
	"errors"

	"github.com/slotmq/go-rmq/message"
)

// OutcomeOf returns what becomes of a message whose listener has returned err: Done, Failed,
// Died, Snoozed after [Later], Dropped if it was cancelled, or HandedBack after [Pushback] or
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
	var ( // these cost memory, so not before they are needed
		declared deadError
		later    laterError
		pushed   pushbackError
	)
	switch {
	case errors.Is(context.Cause(ctx), ErrCancelled):
		return message.Dropped
	case as(err, &later) && !as(err, &declared):
		return message.Snoozed // also while closing: for as long as it was meant to wait
	case errors.Is(context.Cause(ctx), ErrClosing), as(err, &pushed) && !as(err, &declared):
		return message.HandedBack
	case as(err, &declared), d.Last:
		return message.Died
	}
	return message.Failed
}

// as is errors.As for an error of the user's, whose methods may panic.
func as[E error](err error, target *E) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return errors.As(err, target)
}
