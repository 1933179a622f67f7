package producer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/silence"
	"github.com/slotmq/go-rmq/message"
)

// The clock of each master. A Cluster has as many clocks as masters, so the writers of each share the reading of its
// own. After a broken connection it is read again: another server may have taken over. If it cannot be read, the last
// reading goes on. A reading knows its error, half its round trip. Without that, one slow answer would make the server
// look a second ahead for as long as the reading lasts, and times that are merely close would be refused as past. Sends
// never wait for a later look, except after a broken connection.

const (
	// clockEvery is the time from one look at a server's clock to the next. After a poor
	// reading it is soonest, and then twice as long each time.
	clockEvery = 10 * time.Second
	soonest    = time.Second

	// readings are taken at one look until one took no longer than quick.
	readings = 3
	quick    = time.Millisecond

	// drift is how far two clocks drift apart at most: 1 ms in 10 s.
	drift = 1.0 / 10_000
)

// moment is a server's time, wrong by the bound at most.
type moment struct {
	at    time.Time
	bound time.Duration
}

func (m moment) earliest() time.Time { return m.at.Add(-m.bound) }
func (m moment) latest() time.Time   { return m.at.Add(m.bound) }

// reading pairs a moment of this process with the server's time at it.
type reading struct {
	local  time.Time // with its monotonic part, so steps of the local clock do not matter
	server time.Time
	bound  time.Duration // half the round trip: the server has answered somewhere in it

	expires  time.Time     // when to look again
	pause    time.Duration // until then
	replaced bool          // another server may have taken over: to be waited for
	err      error         // why there is no time yet
}

// moment returns the server's time at a local one.
func (r *reading) moment(local time.Time) moment {
	age := local.Sub(r.local)
	return moment{r.server.Add(age), r.bound + time.Duration(float64(age)*drift)}
}

func (r *reading) fresh() bool { return r != nil && time.Now().Before(r.expires) }

// clock knows the time of one server.
type clock struct {
	shared *shared
	last   atomic.Pointer[reading]

	mu     sync.Mutex
	asking chan struct{} // closed when the server, which is being asked, has answered; or nil
}

// now returns the time of the server that has the key. It waits for an answer only if
// there is no reading yet, or if another server may have taken over.
func (c *clock) now(ctx context.Context, key string) (moment, error) {
	if answered := c.update(key, true); answered != nil {
		select {
		case <-answered:
		case <-ctx.Done():
			return moment{}, ctx.Err()
		}
	}
	return c.time()
}

// lastKnown returns the time by the last reading, good enough to know what is past. It
// waits only if there is no reading.
func (c *clock) lastKnown(w *patience, key string) (moment, error) {
	if answered := c.update(key, false); answered != nil {
		if err := w.wait(answered, rung); err != nil {
			return moment{}, err
		}
	}
	return c.time()
}

// sure reports whether now need not wait for an answer.
func (c *clock) sure() bool {
	r := c.last.Load()
	return c.shared.frozen != nil || r != nil && r.err == nil && !r.replaced
}

// update asks the server if it is time to. It returns what must be waited for before time is good enough, or nil.
func (c *clock) update(key string, sure bool) (answered <-chan struct{}) {
	r := c.last.Load()
	if c.shared.frozen != nil || r.fresh() {
		return nil
	}
	answered = c.ask(key)
	if r == nil || r.err != nil || sure && r.replaced {
		return answered
	}
	return nil
}

// time is that of the server by the last reading.
func (c *clock) time() (moment, error) {
	if c.shared.frozen != nil {
		return moment{at: c.shared.frozen()}, nil
	}
	r := c.last.Load()
	if r == nil {
		return moment{}, message.ErrClosed
	}
	return r.moment(time.Now()), r.err
}

// ask starts one question to the server for all callers that wait. It runs in the
// background, so a caller whose context ends need not wait for it.
func (c *clock) ask(key string) (answered <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking != nil {
		return c.asking
	}
	done := make(chan struct{})
	begun := !c.last.Load().fresh() && c.shared.goBackground(func() {
		c.look(key)
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

// look asks the server. If it does not answer, the last reading still holds: clocks drift
// little, and the write that follows reports what is wrong.
func (c *clock) look(key string) {
	for known := false; !known; {
		last := c.last.Load()
		r, err := c.read(key)
		now := time.Now()
		switch {
		case err == nil:
			r = better(last, r)
			r.expires = now.Add(r.pause)
		case last == nil || last.err != nil:
			c.shared.away.Doubt(key, err)
			// Kept for a moment, so that the messages of one flight fail together.
			r = reading{err: fmt.Errorf("ask Redis for its time: %w", silence.Explain(c.shared.rdb, err)), expires: now.Add(100 * time.Millisecond)}
		default:
			r = *last
			r.expires = now.Add(time.Second)
		}
		known = c.last.CompareAndSwap(last, &r) // else a connection was lost in between: which server has answered?
	}
}

// read takes readings, and returns the one with the shortest round trip.
func (c *clock) read(key string) (best reading, err error) {
	defer cluster.WhileSlow(c.shared.run, c.shared.rdb)()
	node, _, err := cluster.MasterFor(c.shared.run, c.shared.rdb, key)
	if err != nil {
		return best, err
	}
	for n := range readings {
		before := time.Now()
		server, err := node.Time(c.shared.run).Result()
		half := time.Since(before) / 2
		switch {
		case err != nil && n == 0:
			return best, err
		case err != nil:
			return best, nil
		case n == 0 || half < best.bound:
			best = reading{local: before.Add(half), server: server, bound: half}
		}
		if 2*half <= quick {
			break
		}
	}
	return best, nil
}

// better chooses between two readings: the new one, unless the last is more exact and they
// agree within their bounds. If they do not agree, the clock was set, or another server
// has taken over, and only the new one counts.
func better(last *reading, r reading) reading {
	r.pause = clockEvery
	if last != nil && last.err == nil && !last.replaced {
		was, is := last.moment(r.local), r.moment(r.local)
		if was.bound < is.bound && was.at.Sub(is.at).Abs() <= was.bound+is.bound {
			kept := *last
			kept.pause = clockEvery
			return kept
		}
	}
	if 2*r.bound > quick {
		r.pause = soonest
		if last != nil {
			r.pause = min(max(2*last.pause, soonest), clockEvery)
		}
	}
	return r
}

// expire makes the next caller of now ask the server again and wait for the answer. It is
// called when a connection was lost: another server may have taken over.
func (c *clock) expire() {
	if last := c.last.Load(); last != nil && (last.fresh() || !last.replaced) {
		r := *last
		r.expires, r.replaced = time.Time{}, true
		c.last.CompareAndSwap(last, &r)
	}
}
