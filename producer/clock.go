package producer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/internal/nodes"
	"github.com/slotmq/go-rmq/message"
)

// recheck is how often a server's clock and the topics' definitions are looked
// at again.
const recheck = 30 * time.Second

// reading pairs a moment of this process with the server's time at it.
type reading struct {
	local   time.Time // with its monotonic part, so steps of the local clock do not matter
	server  time.Time
	expires time.Time // when to look again
	err     error     // why there is no time yet
}

// clock tells the time of one server.
type clock struct {
	p    *Producer
	last atomic.Pointer[reading]

	mu     sync.Mutex
	asking chan struct{} // closed when the server, which is being asked, has answered; or nil
}

// now returns the time of the server, which is the one that holds the key.
func (c *clock) now(ctx context.Context, key string) (time.Time, error) {
	if c.p.frozen != nil {
		return c.p.frozen(), nil
	}
	if !c.last.Load().fresh() {
		select {
		case <-c.ask(key):
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
	return c.last.Load().now()
}

// about returns the time as it was last known, which is good enough to tell what
// is past, and waits only where it never was.
func (c *clock) about(ctx context.Context, key string) (time.Time, error) {
	r := c.last.Load()
	if c.p.frozen != nil || r == nil || r.err != nil {
		return c.now(ctx, key)
	}
	if !r.fresh() {
		c.ask(key)
	}
	return r.now()
}

func (r *reading) fresh() bool { return r != nil && time.Now().Before(r.expires) }

func (r *reading) now() (time.Time, error) {
	if r == nil {
		return time.Time{}, message.ErrClosed
	}
	return r.server.Add(time.Since(r.local)), r.err
}

// ask has the server asked, once for all who wait, and beside them: whoever it
// keeps waiting may give up.
func (c *clock) ask(key string) (answered <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking != nil {
		return c.asking
	}
	done := make(chan struct{})
	begun := !c.last.Load().fresh() && c.p.aside(func() {
		c.measure(key)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asking = nil
		close(done)
	})
	if begun {
		c.asking = done
	} else {
		close(done)
	}
	return done
}

// measure asks the server. If it cannot be reached, the last reading goes on:
// clocks drift little, and the write that follows will tell what is wrong.
func (c *clock) measure(key string) {
	last, r := c.last.Load(), reading{}
	defer nodes.WhileSlow(c.p.run, c.p.rdb)()
	node, _, err := nodes.MasterFor(c.p.run, c.p.rdb, key)
	before := time.Now()
	if err == nil {
		r.server, err = node.Time(c.p.run).Result()
	}
	after := time.Now()
	switch {
	case err == nil:
		r.local, r.expires = before.Add(after.Sub(before)/2), after.Add(recheck)
	case last == nil || last.err != nil:
		// Kept for a moment, so that the messages of one flight fail together.
		r.err, r.expires = fmt.Errorf("ask Redis for its time: %w", err), after.Add(100*time.Millisecond)
	default:
		r = *last
		r.expires = after.Add(time.Second)
	}
	c.last.Store(&r)
}

// expire makes the next look ask the server again, after a connection was
// lost: another server may have taken over.
func (c *clock) expire() {
	if last := c.last.Load(); last != nil {
		r := *last
		r.expires = time.Time{}
		c.last.CompareAndSwap(last, &r)
	}
}
