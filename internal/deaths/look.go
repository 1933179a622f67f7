package deaths

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/schedule"
)

const (
	// lookAtOnce is how many slots are looked at in one round trip.
	lookAtOnce = 512

	// slotsInOneExists is how many of them one command names.
	slotsInOneExists = 32
)

// Hurry has all slots of a topic looked at that are this worker's: some may be new to it.
func (t *Teller) Hurry(of *schedule.Topic) {
	if topic := t.of[of]; topic != nil {
		t.plan.Hurry(topic)
	}
}

// Run looks at the slots of each topic now and then: a worker may have died before it told
// what it knew, and others may have killed messages in a slot which this one has now.
func (t *Teller) Run() {
	for topics := t.plan.Next(t.Shift.Background); topics != nil; topics = t.plan.Next(t.Shift.Background) {
		groups := map[string][]place{} // by server
		for _, topic := range topics {
			for _, x := range t.Schedule.Assigned(topic.Scheduled) {
				p := place{topic, x.Index}
				if _, addr, err := cluster.MasterFor(t.Shift.Background, t.Redis, p.keys().Dead); err == nil {
					groups[addr] = append(groups[addr], p)
				}
			}
		}
		for addr, places := range groups {
			t.lines.Add(addr, places...)
		}
	}
}

// look begins to tell in those of some slots of one server that have dead messages. Nearly
// always there is none at all, which one command says of many slots.
func (t *Teller) look(_ string, slots []place) {
	if t.Shift.Background.Err() != nil {
		return
	}
	node, _, err := cluster.MasterFor(t.Shift.Background, t.Redis, slots[0].keys().Dead)
	if err != nil {
		return
	}
	together := slotsInOneExists
	if cluster.IsCluster(t.Redis) { // which allows no keys of several slots in a command
		together = 1
	}
	if together > 1 {
		slots = t.withDead(node, slots, together)
	}
	for _, p := range t.withDead(node, slots, 1) {
		t.begin(p)
	}
}

// withDead returns those of some slots that have dead messages, or may have: it asks about
// so many of them together.
func (t *Teller) withDead(node redis.UniversalClient, slots []place, together int) (some []place) {
	if len(slots) == 0 {
		return nil
	}
	pipe := node.Pipeline()
	var exist []*redis.IntCmd
	for group := range slices.Chunk(slots, together) {
		keys := make([]string, len(group))
		for i, p := range group {
			keys[i] = p.keys().Dead
		}
		exist = append(exist, pipe.Exists(t.Shift.Background, keys...))
	}
	if _, err := pipe.Exec(t.Shift.Background); cluster.Unanswered(err) {
		cluster.NoteError(t.Shift.Background, t.Redis, err)
		t.Log.Debug("the look for deaths failed", zap.Error(err))
		return nil // the next look finds them
	}
	for i, group := range slices.Collect(slices.Chunk(slots, together)) {
		if exist[i].Err() != nil || exist[i].Val() > 0 { // with an error: the slot may be on its way to another server
			some = append(some, group...)
		}
	}
	return some
}

// Settle is for tests that stop the clock: it looks at all slots and returns when all deaths
// are told, but for those that failed, and those of the ms at which the clock stands.
func (t *Teller) Settle(ctx context.Context) error {
	for _, topic := range t.of {
		for _, x := range t.Schedule.Assigned(topic.Scheduled) {
			t.begin(place{topic, x.Index})
		}
	}
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		t.mu.Lock()
		defer t.mu.Unlock()
		for t.active > 0 {
			t.settled.Wait()
		}
	}()
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
