package consumer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/nodes"
	"github.com/slotmq/go-rmq/message"
)

// The safety look. A wake-up may get lost, and whoever fills a topic by plain
// ZADD sends none. So now and then Redis is asked how many contents of each idle
// slot are due before the slot wakes by itself, and whether something of it is in
// flight. Where there is something, the slot is woken. The answers are numbers,
// however large the contents are.
//
// Slots that are new to this worker are looked at in the same way before they are
// asked for a turn, which costs ten times as much: most of them are empty.

// lookSlots is how many slots are asked for at once.
const lookSlots = 128

// early is how much less than a slot sleeps it is asked for: what is due about when it
// wakes, it sleeps to.
const early = 10 * time.Millisecond

// resting is a slot that sleeps until at, or until it is woken if that is zero.
type resting struct {
	*slot
	at     time.Time
	gained bool // and was never looked at since
}

// sight is what one look goes for on one server.
type sight struct {
	node  redis.UniversalClient
	slots []resting
}

// lookAfter looks at the topic's idle slots every SafetyLook, and when told to. A
// Cluster has many servers, and one that hangs does not keep the others from being
// looked at.
func (c *Consumer) lookAfter(t *topic) {
	ticker := time.NewTicker(t.first(t.opts.SafetyLook))
	defer ticker.Stop()
	eyes := map[string]*eye{}
	for {
		select {
		case <-ticker.C:
			ticker.Reset(t.opts.SafetyLook)
		case <-t.lookNow:
		case <-c.background.Done():
			return
		}
		for addr, s := range c.sights(t) {
			e := eyes[addr]
			if e == nil {
				e = &eye{}
				eyes[addr] = e
			}
			if e.open() {
				c.running.Go(func() {
					if leave, ok := c.gates.enter(c.background, addr); ok {
						c.look(t, s)
						leave()
					}
					if e.close() {
						signal(t.lookNow)
					}
				})
			}
		}
	}
}

// sights groups the topic's idle slots by the server they are on.
func (c *Consumer) sights(t *topic) map[string]*sight {
	groups := map[string]*sight{}
	for _, x := range c.schedule.idle(t) {
		node, addr, err := nodes.MasterFor(c.background, c.rdb, x.turn.Keys.Store)
		if err != nil {
			c.schedule.lookFailed(x)
			continue
		}
		g := groups[addr]
		if g == nil {
			g = &sight{node: node}
			groups[addr] = g
		}
		g.slots = append(g.slots, x)
	}
	return groups
}

// look wakes the idle slots that have something to do.
func (c *Consumer) look(t *topic, s *sight) {
	// The server's clock may have been set. Messages are due by it, and slots sleep by
	// that of this process.
	clock, err := s.node.Time(c.background).Result()
	answered := time.Now()
	for slots := range slices.Chunk(s.slots, lookSlots) {
		if err == nil {
			err = c.lookAt(t, s.node, slots, func(at time.Time) time.Time { return clock.Add(at.Sub(answered)) })
		}
	}
	if err != nil {
		for _, x := range s.slots {
			c.schedule.lookFailed(x)
		}
	}
	if err != nil && c.background.Err() == nil && !nodes.Elsewhere(err) {
		nodes.Failed(c.background, c.rdb, err)
		c.log.Warn("safety look failed", zap.String("topic", t.Name), zap.Error(err))
	}
}

// lookAt looks at some slots of one server. by tells a time by the server's clock.
func (c *Consumer) lookAt(t *topic, node redis.UniversalClient, slots []resting, by func(time.Time) time.Time) error {
	const never = 1<<53 - 1 // as a score: nothing is due so late
	pipe := node.Pipeline()
	asked := make([][3]*redis.IntCmd, len(slots))
	now := by(time.Now()).UnixMilli()
	for i, x := range slots {
		due, retry := int64(never), int64(never)
		if !x.at.IsZero() {
			due = max(now, by(x.at.Add(-early)).UnixMilli())
			retry = due*100 + 99
		}
		k, ctx := x.turn.Keys, c.background
		if t.Kind == message.KindPriority {
			asked[i][0] = pipe.ZCard(ctx, k.Store)
		} else {
			asked[i][0] = pipe.ZCount(ctx, k.Store, "-inf", strconv.FormatInt(due, 10))
		}
		asked[i][1] = pipe.ZCount(ctx, k.Retry, "-inf", strconv.FormatInt(retry, 10))
		asked[i][2] = pipe.ZCard(ctx, k.Prepare)
	}
	_, err := pipe.Exec(c.background)
	for i := range slots {
		if asked[i][2].Val() > 0 { // it may be another's, and to be taken over
			c.reckoned(t)
			break
		}
	}
	for i, x := range slots {
		for _, cmd := range asked[i] {
			// A slot that is on its way to another server: its turn will find it.
			if cmd.Val() > 0 || nodes.Elsewhere(cmd.Err()) {
				c.schedule.wake(t, x.index, 0)
				break
			}
		}
	}
	return err
}

// idle returns the topic's slots that sleep and are this worker's, but for those that
// are paused or another's: they look by themselves. One whose turn is under way is to
// turn again: the turn may have been executed before a message came whose wake-up got
// lost, and its answer would send the slot to sleep after this look.
func (s *schedule) idle(t *topic) (slots []resting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range t.slots {
		switch {
		case !x.owned:
		case x.state == idle:
			if x.gained || !x.refused {
				slots = append(slots, resting{x, x.at, x.gained})
				x.gained = false
			}
		case x.state == turning:
			x.woken = true
		}
	}
	return slots
}

// lookFailed has a slot that was gained take a turn, which is repeated until it is
// answered.
func (s *schedule) lookFailed(x resting) {
	if x.gained {
		s.wake(x.topic, x.index, 0)
	}
}

// eye looks at the slots of a topic on one server.
type eye struct {
	mu          sync.Mutex
	busy, again bool
}

// open reports whether a look may begin. If there is one already, there will be
// another.
func (e *eye) open() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.again = e.busy
	e.busy = true
	return !e.again
}

// close ends a look, and reports whether there shall be another.
func (e *eye) close() (again bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	again, e.busy, e.again = e.again, false, false
	return again
}

// Settle looks at every slot of this worker now and returns when nothing is
// due and no handler runs. It is meant for tests that move the clock of an
// in-memory Redis.
func (c *Consumer) Settle(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("settle: %w", errNilContext)
	}
	c.mu.Lock()
	running := c.phase == started
	c.mu.Unlock()
	if !running {
		return nil
	}
	s := c.schedule
	for _, t := range c.topics {
		for i := range t.Slots {
			s.wake(t, i, 0)
		}
	}
	select {
	case <-s.watch():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("settle: %w", ctx.Err())
	}
}
