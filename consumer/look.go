package consumer

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/nodes"
	"github.com/slotmq/go-rmq/message"
)

// The safety look. A wake-up may get lost, and whoever fills a topic by plain
// ZADD sends none. So now and then the heads of the idle slots are read, which
// costs a tenth of a turn, and a slot whose head is another one than at the
// last look is woken.

// eye looks at a topic's slots on one server. A Cluster has many, and one that
// hangs does not keep the others from being looked at.
type eye struct {
	busy  atomic.Bool
	looks int // so far
	clock serverClock
}

// sight is what one look goes for on one server.
type sight struct {
	node    redis.UniversalClient
	slots   []*slot
	numbers []int64
}

// lookAfter looks at the topic's idle slots every SafetyLook, and when told to.
func (c *Consumer) lookAfter(t *topic) {
	ticker := time.NewTicker(t.opts.SafetyLook)
	defer ticker.Stop()
	eyes := map[string]*eye{}
	for {
		select {
		case <-ticker.C:
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
			if e.busy.CompareAndSwap(false, true) {
				c.running.Go(func() {
					defer e.busy.Store(false)
					c.look(t, e, s)
				})
			}
		}
	}
}

// sights groups the topic's idle slots by the server they are on.
func (c *Consumer) sights(t *topic) map[string]*sight {
	groups := map[string]*sight{}
	slots, numbers := c.schedule.idle(t)
	for i, x := range slots {
		node, addr, err := nodes.MasterFor(c.background, c.rdb, x.turn.Keys.Store)
		if err != nil {
			continue
		}
		g := groups[addr]
		if g == nil {
			g = &sight{node: node}
			groups[addr] = g
		}
		g.slots, g.numbers = append(g.slots, x), append(g.numbers, numbers[i])
	}
	return groups
}

// look reads the heads of idle slots, and wakes those where something new
// stands.
func (c *Consumer) look(t *topic, e *eye, s *sight) {
	pipe := s.node.Pipeline()
	heads := make([]*redis.ZSliceCmd, 0, 2*len(s.slots))
	for _, x := range s.slots {
		if t.Kind == message.KindPriority {
			heads = append(heads, pipe.ZRevRangeWithScores(c.background, x.turn.Keys.Store, 0, 0))
		} else {
			heads = append(heads, pipe.ZRangeWithScores(c.background, x.turn.Keys.Store, 0, 0))
		}
		heads = append(heads, pipe.ZRangeWithScores(c.background, x.turn.Keys.Retry, 0, 0))
	}
	// A batch in flight of a worker that is gone makes no head. It can be
	// overlooked only after two faults, so every fourth look is enough.
	var flying []*redis.IntCmd
	if e.looks++; e.looks%4 == 0 {
		for _, x := range s.slots {
			flying = append(flying, pipe.ZCard(c.background, x.turn.Keys.Prepare))
		}
	}
	clock := pipe.Time(c.background)
	if _, err := pipe.Exec(c.background); err != nil && c.background.Err() == nil && !nodes.Elsewhere(err) {
		nodes.Failed(c.background, c.rdb, err)
		c.log.Warn("safety look failed", zap.String("topic", t.Name), zap.Error(err))
	}
	stepped := e.clock.stepped(clock)
	t.looking.Lock()
	defer t.looking.Unlock()
	for i, x := range s.slots {
		store, retry := heads[2*i], heads[2*i+1]
		changed := stepped && store.Err() == nil || flying != nil && flying[i].Val() > 0 || x.seen[0].differs(store, s.numbers[i])
		// A slot that is on its way to another server: its turn will find it.
		changed = changed || nodes.Elsewhere(store.Err()) || nodes.Elsewhere(retry.Err())
		if x.seen[1].differs(retry, s.numbers[i]) || changed {
			c.schedule.wake(t, x.index, 0)
		}
	}
}

// serverClock notices when a server's clock is set forward: then messages may
// be due that their slots would sleep on for.
type serverClock struct{ ahead time.Duration } // of this process, at the last look

// stepped reports whether the clock is further ahead than at the last look.
func (s *serverClock) stepped(cmd *redis.TimeCmd) bool {
	now, err := cmd.Result()
	if err != nil {
		return false
	}
	before := s.ahead
	s.ahead = now.Sub(epoch) - time.Since(epoch) // the latter is monotonic
	return s.ahead-before > time.Second
}

var epoch = time.Now()

// head is the first element of a sorted set, as it was last seen.
type head struct {
	content any
	score   float64
	number  int64 // of the slot: the same content may have been taken and sent again
}

// differs notes what stands there now, and reports whether it is something
// else than before.
func (h *head) differs(cmd *redis.ZSliceCmd, number int64) bool {
	found, err := cmd.Result()
	if err != nil {
		return false
	}
	var now head
	if len(found) > 0 {
		now = head{found[0].Member, found[0].Score, number}
	}
	before := *h
	*h = now
	return now.content != nil && now != before
}

// idle returns the topic's slots that sleep, and are this worker's, with their
// numbers. One whose turn is under way is to turn again: the turn may have been
// executed before a message came whose wake-up got lost, and its answer would
// send the slot to sleep after this look.
func (s *schedule) idle(t *topic) (slots []*slot, numbers []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range t.slots {
		switch {
		case !x.owned:
		case x.state == idle:
			slots, numbers = append(slots, x), append(numbers, x.number)
		case x.state == turning:
			x.woken = true
		}
	}
	return slots, numbers
}

// Settle looks at every slot of this worker now and returns when nothing is
// due and no handler runs. It is meant for tests that move the clock of an
// in-memory Redis.
func (c *Consumer) Settle(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("settle: %w", errNilContext)
	}
	c.mu.Lock()
	s, phase := c.schedule, c.phase
	c.mu.Unlock()
	if phase != started {
		return nil
	}
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
