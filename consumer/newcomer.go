package consumer

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/luascripts"
)

// Newcomers, where a list of members shares the slots out. A worker that crashes soon
// after each start has another id each time. If each of them got its share at once, the
// batches of the dead ones would keep most of the slots from the living.
//
// So a worker that finds others there has no slots at first, for its trial. Until it has
// lived for a lease it counts in the list for no longer than that trial, so one that
// died young is out of the list before the next one comes in. What it had in hand stays
// its own for a whole lease, as with every worker; and while a slot is in the hands of
// somebody who is not in the list, no newcomer comes in. After a lease it does, whatever
// there is: what a worker left behind that died before this one started is over by then.
//
// A worker that finds nobody in the list begins at once.

// shortTrial is how long a newcomer has no slots; with a shorter lease, that.
const shortTrial = 2 * time.Second

// trial is longer for a worker of thousands of topics, since it shows itself three times
// in that time in each of their lists.
func (c *Consumer) trial() time.Duration {
	return min(c.cfg.Lease, max(shortTrial, time.Duration(len(c.topics))*time.Millisecond))
}

// counts is how long the worker counts from now on in the topic's list.
func (c *Consumer) counts(t *topic, now time.Time) time.Duration {
	if t.newcomer && now.Sub(t.born) < c.cfg.Lease {
		return c.trial()
	}
	return c.cfg.Lease
}

// nextShow is when the worker shows itself in the list again, or tries to come in.
func (c *Consumer) nextShow(t *topic, now time.Time) time.Duration {
	if age := now.Sub(t.born); t.newcomer && !t.listed && age < c.trial() {
		return c.trial() - age
	}
	return min(c.counts(t, now)/3, recheck)
}

// kept reports whether a newcomer has to stay out of the list, in which it finds others.
func (c *Consumer) kept(ctx context.Context, t *topic, others []string, now time.Time) bool {
	switch age := now.Sub(t.born); {
	case t.listed || len(others) == 0 || age >= c.cfg.Lease:
		return false
	case age < c.trial():
		return true
	}
	if !c.heldByNobody(ctx, t, others) {
		return false
	}
	if !t.kept {
		t.kept = true
		c.log.Info("slots are shared out later: a batch is in flight at a worker that died or leaves",
			zap.String("topic", t.Name), zap.Duration("at most", c.cfg.Lease-now.Sub(t.born)))
	}
	return true
}

// heldByNobody reports whether a batch is in the hands of somebody who is not in the list:
// it died, or it leaves and is not through yet. A slot whose server does not answer
// does not count, nor does one with nothing in flight, which may still name a holder.
func (c *Consumer) heldByNobody(ctx context.Context, t *topic, members []string) (found bool) {
	for some := range slices.Chunk(t.slots, lookSlots) {
		inFlight, holders := make([]*redis.IntCmd, len(some)), make([]*redis.SliceCmd, len(some))
		if c.beside(ctx, luascripts.WorkersKey(t.name), func() error {
			pipe := c.rdb.Pipeline()
			for i, x := range some {
				inFlight[i] = pipe.ZCard(ctx, x.turn.Keys.Prepare)
				holders[i] = pipe.HMGet(ctx, x.turn.Keys.Meta, "holder")
			}
			_, _ = pipe.Exec(ctx) // each tells its own error
			return nil
		}) != nil {
			return false // the worker ends
		}
		for i := range some {
			if inFlight[i].Val() == 0 || holders[i].Err() != nil {
				continue
			}
			if holder, _ := holders[i].Val()[0].(string); holder != "" && !slices.Contains(members, holder) {
				return true
			}
		}
	}
	return false
}
