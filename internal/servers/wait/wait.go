// Package wait ends a wait when a context ends. The Redis client does not do that
// by itself: while it dials or reads, it uses its own time-outs, unless the user
// has set ContextTimeoutEnabled. And it waits so that work goes at a rate.
//
// # Contexts end waits, not requests
//
// While go-redis dials or reads, it uses its own time-outs and not the context, unless its user has set
// ContextTimeoutEnabled. So what may block runs in a goroutine: the first comparison of a definition, which all early
// sends share, and through wait.For the questions of Start and what a Client asks of the inspector. A caller returns
// when its context ends. What was begun ends by the time-outs.
package wait

import (
	"context"
	"errors"
	"fmt"
)

// For runs do and returns its error, or that of ctx as soon as ctx ends. Then do
// goes on in the background until the Redis client's time-outs end it. So do must
// not change what its caller reads afterwards.
func For(ctx context.Context, do func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	result := make(chan error, 1)
	go func() { result <- do(ctx) }()
	var err error
	select {
	case err = <-result:
	case <-ctx.Done():
		select {
		case err = <-result: // just in time
		default:
			return ctx.Err()
		}
	}
	if over := ctx.Err(); err != nil && over != nil && !errors.Is(err, over) {
		return fmt.Errorf("%w: %w", over, err)
	}
	return err
}
