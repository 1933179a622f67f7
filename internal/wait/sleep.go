package wait

import (
	"context"
	"sync"
	"time"
)

// Sleep waits for d, and reports whether it has passed: if not, ctx has ended.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
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
