package wait

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Sleep waits for d, and reports whether it has passed: if not, ctx has ended.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	began := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	slept := true
	select {
	case <-timer.C:
	case <-ctx.Done():
		slept = false
	}
	if sum, is := ctx.Value(sleptKey{}).(*atomic.Int64); is {
		sum.Add(int64(time.Since(began)))
	}
	return slept
}

type sleptKey struct{}

// Counted is a context, and how long all that uses it has slept by then: for who wants to know how long it has worked.
func Counted(ctx context.Context) (counted context.Context, slept func() time.Duration) {
	var sum atomic.Int64
	return context.WithValue(ctx, sleptKey{}, &sum), func() time.Duration { return time.Duration(sum.Load()) }
}

// Group waits until all of a group have ended, or returns the error of ctx when that ends.
func Group(ctx context.Context, group *sync.WaitGroup) error {
	ended := make(chan struct{})
	go func() {
		group.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
