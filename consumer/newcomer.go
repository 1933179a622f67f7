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
	if t.newcomer.Load() && now.Sub(t.born) < c.cfg.Lease {
		return c.trial()
	}
	return c.cfg.Lease
}

// nextShow is when the worker shows itself in the list again, or tries to come in.
func (c *Consumer) nextShow(t *topic, now time.Time) time.Duration {
	if age := now.Sub(t.born); t.newcomer.Load() && !t.listed.Load() && age < c.trial() {
		return c.trial() - age
	}
	return min(c.counts(t, now)/3, recheck)
}

// kept tells which of the topics' lists the worker has to stay out of, by what it was told of
// them: a newcomer of those in which it finds others.
func (c *Consumer) kept(ctx context.Context, found []*entry, now time.Time) map[*topic]bool {
	out := map[*topic]bool{}
	var tried []*entry
	for _, e := range found {
		t := e.topic
		if e.err != nil {
			continue
		}
		t.newcomer.Store(len(e.members) > 0)
		switch age := now.Sub(t.born); {
		case !t.newcomer.Load() || age >= c.cfg.Lease:
		case age < c.trial():
			out[t] = true
		default:
			tried = append(tried, e)
		}
	}
	for t := range c.heldByNobody(ctx, tried) {
		out[t] = true
		if !t.kept {
			t.kept = true
			c.log.Info("slots are shared out later: a batch is in flight at a worker that died or leaves",
				zap.String("topic", t.Name), zap.Duration("at most", c.cfg.Lease-now.Sub(t.born)))
		}
	}
	return out
}

// heldByNobody tells of which topics a batch is in the hands of somebody who is not in the
// list: it died, or it leaves and is not through yet. A slot whose server does not answer
// does not count, nor does one with nothing in flight, which may still name a holder.
func (c *Consumer) heldByNobody(ctx context.Context, lists []*entry) map[*topic]bool {
	held, members := map[*topic]bool{}, map[*topic][]string{}
	type place struct {
		topic *topic
		keys  luascripts.SlotKeys
	}
	var all []place
	for _, e := range lists {
		members[e.topic] = e.members
		for i := range e.topic.Slots {
			all = append(all, place{e.topic, luascripts.KeysOf(e.topic.name, i)})
		}
	}
	for some := range slices.Chunk(all, lookSlots) {
		inFlight, holders := make([]*redis.IntCmd, len(some)), make([]*redis.SliceCmd, len(some))
		pipe := c.rdb.Pipeline()
		for i, x := range some {
			inFlight[i] = pipe.ZCard(ctx, x.keys.Prepare)
			holders[i] = pipe.HMGet(ctx, x.keys.Meta, "holder")
		}
		_, _ = pipe.Exec(ctx) // each tells its own error
		for i, x := range some {
			if inFlight[i].Val() == 0 || holders[i].Err() != nil {
				continue
			}
			if holder, _ := holders[i].Val()[0].(string); holder != "" && !slices.Contains(members[x.topic], memberOf(holder)) {
				held[x.topic] = true
			}
		}
	}
	return held
}
