package consumer

import (
	"context"
	"errors"
)

// sign is what the end of a handler says of what the handlers of its topic need.
type sign uint8

const (
	// neither: Dead, which is about this message; Later and Pushback, which are no failures; a
	// message that was cancelled, or ended because the worker closes or lost its lease.
	neither sign = iota
	success
	failure // an error, a time-out, a panic
)

// signOf is what an error is a sign of, with what it has made of its message.
func signOf(ctx context.Context, f fate, err error) sign {
	var declared deadError
	if !errors.Is(context.Cause(ctx), ErrLeaseLost) && (f == failed || f == dead && !as(err, &declared)) {
		return failure
	}
	return neither
}
