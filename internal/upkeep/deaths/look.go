package deaths

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

const (
	// lookAtOnce is how many slots are looked at in one round trip.
	lookAtOnce = 512

	// slotsInOneExists is how many of them one command names.
	slotsInOneExists = 32
)

// Hurry has all slots of a topic looked at that are this worker's: some may be new to it.
func (r *Reporter) Hurry(of *schedule.Topic) {
	if topic := r.of[of]; topic != nil {
		r.plan.Hurry(topic)
	}
}

// Run looks at the slots of each topic now and then: a worker may have died before it reported
// what it knew, and others may have killed messages in a slot that is this one's now.
func (r *Reporter) Run() {
	for topics := r.plan.Next(r.Life.Background); topics != nil; topics = r.plan.Next(r.Life.Background) {
		groups := map[string][]place{} // by server
		for _, topic := range topics {
			for _, x := range r.Schedule.Assigned(topic.Scheduled) {
				p := place{topic, x.Index}
				if _, addr, err := cluster.MasterFor(r.Life.Background, r.Redis, p.keys().Dead); err == nil {
					groups[addr] = append(groups[addr], p)
				}
			}
		}
		for addr, places := range groups {
			r.lines.Add(addr, places...)
		}
	}
}

// look begins to report the deaths in those of some slots, all of one server, that have any.
// Nearly always none has, and one command finds that out for many slots.
func (r *Reporter) look(_ string, slots []place) {
	if r.Life.Background.Err() != nil {
		return
	}
	node, _, err := cluster.MasterFor(r.Life.Background, r.Redis, slots[0].keys().Dead)
	if err != nil {
		return
	}
	together := slotsInOneExists
	if cluster.IsCluster(r.Redis) { // which allows no keys of several slots in a command
		together = 1
	}
	if together > 1 {
		slots = r.withDead(node, slots, together)
	}
	for _, p := range r.withDead(node, slots, 1) {
		r.begin(p)
	}
}

// withDead returns those of some slots that have dead messages, or may have. It asks about
// `together` slots in one command.
func (r *Reporter) withDead(node redis.UniversalClient, slots []place, together int) (some []place) {
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
		exist = append(exist, pipe.Exists(r.Life.Background, keys...))
	}
	if _, err := pipe.Exec(r.Life.Background); cluster.Unanswered(err) {
		cluster.NoteError(r.Life.Background, r.Redis, err)
		r.Log.Debug("the look for deaths failed", zap.Error(err))
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
// are reported, but for those that failed, and those of the ms at which the clock stands.
func (r *Reporter) Settle(ctx context.Context) error {
	for _, topic := range r.of {
		for _, x := range r.Schedule.Assigned(topic.Scheduled) {
			r.begin(place{topic, x.Index})
		}
	}
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		r.mu.Lock()
		defer r.mu.Unlock()
		for r.active > 0 {
			r.settled.Wait()
		}
	}()
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
