package periodic

import (
	"context"
	"sync"
)

// atOnce is how many requests are on their way at a time while the worker starts.
const atOnce = 16

// Each calls do for every one of all, 16 at a time. After a failure it begins no more, and
// returns that failure.
func Each[T any](ctx context.Context, all []T, do func(context.Context, T) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	next := make(chan T)
	var doing sync.WaitGroup
	for range min(atOnce, len(all)) {
		doing.Go(func() {
			for t := range next {
				if err := do(ctx, t); err != nil {
					fail(err)
				}
			}
		})
	}
	for _, t := range all {
		if ctx.Err() != nil {
			break
		}
		next <- t
	}
	close(next)
	doing.Wait()
	return context.Cause(ctx)
}
