package fleet

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// Newcomers, where a list of members shares the slots out. A worker that crashes soon
// after each start has another id each time. If each of them got its share at once, the
// batches of the dead ones would keep most of the slots from the living.
//
// So a worker that finds others there has no slots at first, for its trial. Until it has
// lived for a lease it counts in the list for no longer than that trial, so one that
// died young is out of the list before the next one comes in. What it had in hand stays
// its own for a whole lease, as with every worker. While a worker that is not in the
// list holds a slot, no newcomer comes in. After a lease a newcomer comes in at any
// rate: by then the leases of all workers that died before it started are over.
//
// A worker that finds the list empty begins at once.

// slotsAtOnce is for how many slots one round trip asks who holds them.
const slotsAtOnce = 128

// shortTrial is how long a newcomer has no slots, or its lease if that is shorter.
const shortTrial = 2 * time.Second

// newcomers decides when this worker, which has just come, gets slots.
type newcomers struct{ *parts }

// entry is the worker's entry in a topic's list of members, and what the list says about
// the others.
type entry struct {
	topic   *Topic
	members []string
	changed bool // a worker has come or gone
	err     error
}

// trial is longer for a worker of thousands of topics, since it refreshes its entry in
// each list three times during the trial.
func (n *newcomers) trial() time.Duration {
	return min(n.Lease, max(shortTrial, time.Duration(len(n.Topics))*time.Millisecond))
}

// counts is how long the worker counts from now on in the topic's list.
func (n *newcomers) counts(t *Topic, now time.Time) time.Duration {
	if t.newcomer.Load() && now.Sub(t.born) < n.Lease {
		return n.trial()
	}
	return n.Lease
}

// next is how long it is until the worker shows itself in the list again, or tries to come in.
func (n *newcomers) next(t *Topic, now time.Time) time.Duration {
	if age := now.Sub(t.born); t.newcomer.Load() && !t.listed.Load() && age < n.trial() {
		return n.trial() - age
	}
	return min(n.counts(t, now)/3, n.Recheck)
}

// keptOut returns the topics whose lists the worker has to stay out of for now. found is what
// the lists say. It also notes where the worker is a newcomer: where it finds others.
func (n *newcomers) keptOut(ctx context.Context, found []*entry, now time.Time) map[*Topic]bool {
	out := map[*Topic]bool{}
	var tried []*entry
	for _, e := range found {
		t := e.topic
		if e.err != nil {
			continue
		}
		t.newcomer.Store(len(e.members) > 0)
		switch age := now.Sub(t.born); {
		case !t.newcomer.Load() || age >= n.Lease:
		case age < n.trial():
			out[t] = true
		default:
			tried = append(tried, e)
		}
	}
	for t := range n.heldByStrangers(ctx, tried) {
		out[t] = true
		if !t.loggedKeptOut {
			t.loggedKeptOut = true
			n.Log.Info("slots are shared out later: a batch is in flight at a worker that died or leaves",
				zap.String("topic", t.Name), zap.Duration("at most", n.Lease-now.Sub(t.born)))
		}
	}
	return out
}

// heldByStrangers returns the topics where a worker that is not in the list holds a batch:
// it died, or it is still leaving. A slot whose server does not answer does not count, nor
// does one with nothing in flight, which may still name a holder.
func (n *newcomers) heldByStrangers(ctx context.Context, lists []*entry) map[*Topic]bool {
	held, members := map[*Topic]bool{}, map[*Topic][]string{}
	type slotRef struct {
		topic *Topic
		keys  protocol.SlotKeys
	}
	var all []slotRef
	for _, e := range lists {
		members[e.topic] = e.members
		for i := range e.topic.Slots {
			all = append(all, slotRef{e.topic, protocol.KeysOf(e.topic.Qualified, i)})
		}
	}
	for some := range slices.Chunk(all, slotsAtOnce) {
		inFlight, holders := make([]*redis.IntCmd, len(some)), make([]*redis.SliceCmd, len(some))
		pipe := n.Redis.Pipeline()
		for i, x := range some {
			inFlight[i] = pipe.ZCard(ctx, x.keys.Prepare)
			holders[i] = pipe.HMGet(ctx, x.keys.Meta, "holder")
		}
		_, _ = pipe.Exec(ctx) // each has an error of its own
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

// memberOf is the id in the list of members of the worker that holds a slot.
func memberOf(holder string) string {
	if id, n, found := strings.Cut(holder, "+"); found {
		if _, err := strconv.Atoi(n); err == nil {
			return id
		}
	}
	return holder
}
