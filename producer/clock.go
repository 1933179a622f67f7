package producer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/nodes"
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
	rdb    redis.UniversalClient
	frozen func() time.Time // instead of asking, in tests; usually nil
	mu     sync.Mutex       // held while the server is asked
	last   atomic.Pointer[reading]
}

// now returns the time of the server, which is the one that holds the key.
func (c *clock) now(ctx context.Context, key string) (time.Time, error) {
	if c.frozen != nil {
		return c.frozen(), nil
	}
	r := c.last.Load()
	if !r.fresh() {
		r = c.measure(ctx, key)
	}
	if r.err != nil {
		return time.Time{}, r.err
	}
	return r.server.Add(time.Since(r.local)), nil
}

func (r *reading) fresh() bool { return r != nil && time.Now().Before(r.expires) }

// measure asks the server. If it cannot be reached, the last reading goes on:
// clocks drift little, and the write that follows will tell what is wrong.
func (c *clock) measure(ctx context.Context, key string) *reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.last.Load()
	if last.fresh() {
		return last // measured while this call waited for the lock
	}
	r := reading{}
	node, _, err := nodes.MasterFor(ctx, c.rdb, key)
	before := time.Now()
	if err == nil {
		r.server, err = node.Time(ctx).Result()
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
	return &r
}

// expire makes the next look ask the server again, after a connection was
// lost: another server may have taken over.
func (c *clock) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := c.last.Load(); last != nil {
		r := *last
		r.expires = time.Time{}
		c.last.Store(&r)
	}
}
