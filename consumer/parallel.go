package consumer

import (
	"context"
	"sync"
	"time"
)

// parallel handles the messages of a batch at the same time: one after the
// other in the place the batch has, and as many more as there are places.
func (b *batch) parallel() {
	rest := len(b.answer.Contents) - b.next
	more := b.c.schedule.borrow(b.topic, rest-1)
	borrowed := more
	var mu sync.Mutex
	claim := func() (i int, ctx context.Context, end context.CancelFunc, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if b.next == len(b.answer.Contents) || b.leaving.Load() || b.next > 0 && now.Sub(b.begun) > earlyFinish {
			return 0, nil, nil, false
		}
		parent, ok := b.minder.start(now)
		if !ok {
			return 0, nil, nil, false
		}
		i = b.next
		b.next++
		b.bytes += len(b.answer.Contents[i])
		ctx, end = context.WithTimeoutCause(parent, b.topic.opts.Timeout, ErrTimeout)
		return i, ctx, end, true
	}
	var work func()
	var all sync.WaitGroup
	work = func() {
		returned := false
		defer func() {
			if !returned { // a handler ended its goroutine
				all.Go(work)
				return
			}
			// The place goes back now: a neighbour may hang.
			mu.Lock()
			defer mu.Unlock()
			if borrowed > 0 {
				borrowed--
				b.c.schedule.repay(b.topic, 1)
			}
		}()
		for {
			i, ctx, end, ok := claim()
			if !ok {
				break
			}
			b.one(i, ctx, end)
		}
		returned = true
	}
	for range more {
		all.Go(work)
	}
	all.Go(work)
	all.Wait()
}

func (b *batch) one(i int, ctx context.Context, end context.CancelFunc) {
	defer end()
	d := &Delivery{
		Topic: b.topic.Topic, Slot: b.index, Attempt: b.answer.Attempt, Fence: b.answer.Number,
		Content: b.answer.Contents[i], Priority: b.answer.Priority(i),
	}
	b.call(ctx, i, d)
}
