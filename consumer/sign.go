package consumer

import (
	"context"

	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// sign is what the end of a handler says of what the handlers of its topic need.
type sign uint8

const (
	neither sign = iota // see verdict.Blames
	success
	failure
)

// signOf is what an error is a sign of, with what it has made of its message.
func signOf(ctx context.Context, f verdict.Fate, err error) sign {
	if verdict.Blames(ctx, f, err) {
		return failure
	}
	return neither
}
