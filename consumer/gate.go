package consumer

import (
	"context"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/internal/nodes"
)

// A worker of very many topics has much to ask for beside its turns: definitions,
// lists of members, safety looks. None of it may come all at once, or the turns
// would wait behind it, for a connection and in Redis.

// besides is how many such requests are on their way to one server at a time.
const besides = 16

// gates let in so many for each server, so that one which hangs holds up none of
// the others.
type gates struct {
	mu sync.Mutex
	of map[string]chan struct{} // by address
}

// enter waits for its turn, and reports false if ctx ends before. Who was let in
// calls leave.
func (g *gates) enter(ctx context.Context, addr string) (leave func(), ok bool) {
	g.mu.Lock()
	gate := g.of[addr]
	if gate == nil {
		if g.of == nil {
			g.of = map[string]chan struct{}{}
		}
		gate = make(chan struct{}, besides)
		g.of[addr] = gate
	}
	g.mu.Unlock()
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, true
	case <-ctx.Done():
		return nil, false
	}
}

// beside makes a request about a key that is none of a turn.
func (c *Consumer) beside(ctx context.Context, key string, request func() error) error {
	addr := ""
	if _, at, err := nodes.MasterFor(ctx, c.rdb, key); err == nil {
		addr = at // else the request will tell
	}
	leave, ok := c.gates.enter(ctx, addr)
	if !ok {
		return ctx.Err()
	}
	defer leave()
	return request()
}

// each calls do for every topic, some at a time, until all are through or one has
// failed.
func each(ctx context.Context, topics []*topic, do func(context.Context, *topic) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	next := make(chan *topic)
	var all sync.WaitGroup
	for range min(besides, len(topics)) {
		all.Go(func() {
			for t := range next {
				if err := do(ctx, t); err != nil {
					fail(err)
				}
			}
		})
	}
	for _, t := range topics {
		if ctx.Err() != nil {
			break
		}
		next <- t
	}
	close(next)
	all.Wait()
	return context.Cause(ctx)
}

// first is when something that is done for each topic once in a period is first done
// for this one, so that it is not done for all of them at the same time.
func (t *topic) first(period time.Duration) time.Duration {
	return max(1, time.Duration(float64(period)*t.part))
}
