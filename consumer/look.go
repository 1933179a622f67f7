package consumer

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/message"
)

// The safety look. A wake-up may get lost, and whoever fills a topic by plain
// ZADD sends none. So now and then the heads of the idle slots are read, which
// costs a tenth of a turn, and a slot whose head is another one than at the
// last look is woken.

// lookAfter looks at the topic's idle slots every SafetyLook.
func (c *Consumer) lookAfter(t *topic) {
	ticker := time.NewTicker(t.opts.SafetyLook)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.look(t)
		case <-c.background.Done():
			return
		}
	}
}

// look reads the heads of the topic's idle slots, and wakes those where
// something new stands.
func (c *Consumer) look(t *topic) {
	t.looking.Lock()
	defer t.looking.Unlock()
	idle, numbers := c.schedule.idle(t)
	if len(idle) == 0 {
		return
	}
	pipe := c.rdb.Pipeline()
	heads := make([]*redis.ZSliceCmd, 0, 2*len(idle))
	for _, x := range idle {
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
	if t.looks++; t.looks%4 == 0 {
		for _, x := range idle {
			flying = append(flying, pipe.ZCard(c.background, x.turn.Keys.Prepare))
		}
	}
	clock := pipe.Time(c.background)
	if _, err := pipe.Exec(c.background); err != nil && c.background.Err() == nil {
		c.log.Warn("safety look failed", zap.String("topic", t.Name), zap.Error(err))
	}
	stepped := t.clock.stepped(clock)
	for i, x := range idle {
		changed := stepped && heads[2*i].Err() == nil || flying != nil && flying[i].Val() > 0 || x.seen[0].differs(heads[2*i], numbers[i])
		if x.seen[1].differs(heads[2*i+1], numbers[i]) || changed {
			c.schedule.wake(t, x.index, 0)
		}
	}
}

// serverClock notices when the server's clock is set forward: then messages may
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
