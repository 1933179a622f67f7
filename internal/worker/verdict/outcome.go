package verdict

import (
	"context"
	"errors"

	"github.com/slotmq/go-rmq/message"
)

// Outcome is what becomes of a message whose handler returned an error or nil, under a context; last says whether it is
// dead if it has failed.
func Outcome(ctx context.Context, last bool, err error) message.What {
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
	case as(err, &declared), last:
		return message.Died
	}
	return message.Failed
}
