package consumer

import (
	"context"
	"sync"
	"time"
)

// parallel handles the messages of a batch at the same time: one after the
// other in the place the batch has, and as many more as there are places. The turn
// has taken no more than there were then.
func (b *batch) parallel() {
	more := b.c.schedule.Borrow(&b.Slot, len(b.answer.Contents)-b.next-1)
	var mu sync.Mutex
	claim := func() (int, context.Context, bool) {
		mu.Lock()
		defer mu.Unlock()
		return b.claim()
	}
	var work func()
	var all sync.WaitGroup
	work = func() {
		returned := false
		begun := time.Now()
		defer func() {
			mu.Lock()
			b.busy += time.Since(begun)
			mu.Unlock()
			if !returned { // a handler ended its goroutine
				all.Go(work)
				return
			}
			b.c.schedule.ReturnOne(&b.Slot) // now: a neighbour may hang
		}()
		for {
			i, ctx, ok := claim()
			if !ok {
				break
			}
			b.one(ctx, i)
		}
		returned = true
	}
	for range 1 + more {
		all.Go(work)
	}
	all.Wait()
}

// one handles message i under a context of its own.
func (b *batch) one(ctx context.Context, i int) {
	ctx, end := context.WithTimeoutCause(ctx, b.topic.opts.Timeout, ErrTimeout)
	defer end()
	b.call(ctx, i, b.delivery(i))
}
