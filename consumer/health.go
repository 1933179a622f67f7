package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/internal/sharing/fleet"
	"github.com/slotmq/go-rmq/message"
)

// stuckAfter is how long a writer of turns may be at work without a wait. It takes moments; a machine
// that stands still for a while must not be taken for a writer that does.
const stuckAfter = 30 * time.Second

// errorLasts is for how long a lasting error is reported after it was met last. It is met each second while it lasts.
const errorLasts = 5 * time.Second

// leastQuiet is how long nothing need be heard of Redis, where SafetyLook is short.
const leastQuiet = 5 * time.Second

// Health returns why the worker does not do its work; nil if it does, or listens to no topic.
// It does if it has started and does not close, if Redis has answered it within twice its
// SafetyLook (the shortest of its topics; at least 5 s), and if its session with ZooKeeper
// lets it begin handlers: not when it is cut off from Redis and has given its slots up; and if no key
// of a wrong type keeps it from handling messages. It asks nothing, and so does not wait.
func (c *Consumer) Health() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.phase == closed && c.ended != nil && !isClosed(c.ended):
		return errors.New("the worker closes")
	case c.phase == closed:
		return message.ErrClosed
	case len(c.topics) == 0:
		return nil
	case c.phase == fresh:
		return errors.New("the worker has not started")
	case errors.Is(context.Cause(c.running.fleet.Present().Handlers()), fleet.ErrCutOff):
		return fmt.Errorf("the slots were given up: %w", fleet.ErrCutOff)
	case !c.running.fleet.Present().MayStart(time.Now()):
		return errors.New("no session with ZooKeeper is heard of: no handler is started")
	}
	look := c.topics[0].opts.SafetyLook
	for _, t := range c.topics {
		look = min(look, t.opts.SafetyLook)
		if x := t.lasting.Load(); x != nil && time.Since(x.at) < errorLasts {
			return fmt.Errorf("messages of topic %s cannot be handled: %w", t.Name, x)
		}
	}
	if quiet := c.running.life.Quiet(); quiet > max(2*look, leastQuiet) {
		return fmt.Errorf("Redis has answered no turn and no look at the slots for %v", quiet.Round(time.Second))
	}
	return nil
}

// Alive returns an error if the worker is stuck for good, and only a new start of its process
// helps: what takes turns has been busy with something else than Redis for 30 s, or has ended.
// An observer that blocks can do that, a hook of the Redis client that ends its goroutine, or
// an error in this package; but not Redis, ZooKeeper, a handler or the log. It does not wait.
func (c *Consumer) Alive() error {
	c.mu.Lock()
	w := c.running
	c.mu.Unlock()
	if w == nil { // not started
		return nil
	}
	if n := w.worker.Missing(); n > 0 {
		return fmt.Errorf("%d takers of turns had their goroutines ended", n)
	}
	if d := w.worker.Longest(); d > c.stuckAfter {
		return fmt.Errorf("a taker of turns is stuck for %v", d.Round(time.Second))
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
