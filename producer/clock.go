package producer

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/nodes"
)

// recheck is how often the server's clock and the topics' definitions are
// looked at again.
const recheck = 30 * time.Second

// reading pairs a moment of this process with the server's time at it.
type reading struct {
	local   time.Time // with its monotonic part, so steps of the local clock do not matter
	server  time.Time
	expires time.Time // when to look again
	err     error     // why there is no time yet
}

func (r reading) now() time.Time { return r.server.Add(time.Since(r.local)) }

// clock tells the time of the Redis server. Every master of a Cluster has its
// own.
type clock struct {
	rdb      redis.UniversalClient
	frozen   func() time.Time // instead of asking, in tests; usually nil
	mu       sync.Mutex
	readings atomic.Pointer[map[string]reading] // by address of the master; replaced, never changed
}

// at returns the time of the server that holds the key.
func (c *clock) at(ctx context.Context, key string) (time.Time, error) {
	if c.frozen != nil {
		return c.frozen(), nil
	}
	node, addr, err := nodes.MasterFor(ctx, c.rdb, key)
	if err != nil {
		return time.Time{}, err
	}
	r, fresh := c.known(addr)
	if !fresh {
		r = c.measure(ctx, node, addr)
	}
	if r.err != nil {
		return time.Time{}, r.err
	}
	return r.now(), nil
}

// known returns the last reading, and whether it need not be taken again.
func (c *clock) known(addr string) (r reading, fresh bool) {
	if all := c.readings.Load(); all != nil {
		r = (*all)[addr]
	}
	return r, time.Now().Before(r.expires)
}

// measure asks the server. If it cannot be reached, the last reading goes on:
// clocks drift little, and the write that follows will tell what is wrong.
func (c *clock) measure(ctx context.Context, node redis.UniversalClient, addr string) reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, fresh := c.known(addr)
	if fresh {
		return r // measured while this call waited for the lock
	}
	before := time.Now()
	server, err := node.Time(ctx).Result()
	after := time.Now()
	switch {
	case err == nil:
		r = reading{local: before.Add(after.Sub(before) / 2), server: server, expires: after.Add(recheck)}
	case r.local.IsZero():
		// Kept for a moment, so that the messages of one flight fail together.
		r = reading{err: fmt.Errorf("ask Redis for its time: %w", err), expires: after.Add(100 * time.Millisecond)}
	default:
		r.expires = after.Add(time.Second)
	}
	c.put(addr, r)
	return r
}

// put notes a reading. c.mu is held.
func (c *clock) put(addr string, r reading) {
	all := map[string]reading{}
	if old := c.readings.Load(); old != nil {
		maps.Copy(all, *old)
	}
	all[addr] = r
	c.readings.Store(&all)
}

// expire makes the next look ask the servers again, after a connection was
// lost: another server may have taken over.
func (c *clock) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if all := c.readings.Load(); all != nil {
		for addr, r := range *all {
			r.expires = time.Time{}
			c.put(addr, r)
		}
	}
}
