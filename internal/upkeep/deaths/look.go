package deaths

import (
	"context"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/upkeep/periodic"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// lookAtOnce is how many slots are looked at in one round trip.
const lookAtOnce = 512

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
		var all []place
		for _, topic := range topics {
			for _, x := range r.Schedule.Assigned(topic.Scheduled) {
				all = append(all, place{topic, x.Index})
			}
		}
		for addr, places := range periodic.ByServer(r.Life.Background, r.Redis, all, func(p place) string { return p.keys().Dead }) {
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
	for _, p := range r.withDead(node, r.withDead(node, slots, periodic.InOneExists), 1) {
		r.begin(p)
	}
}

// withDead returns those of some slots that have dead messages, or may have. It asks about
// `together` slots in one command.
func (r *Reporter) withDead(node redis.UniversalClient, slots []place, together int) []place {
	if len(slots) == 0 {
		return nil
	}
	pipe := node.Pipeline()
	found := periodic.Exists(r.Life.Background, r.Redis, pipe, slots, together, func(p place) []string { return []string{p.keys().Dead} })
	if _, err := pipe.Exec(r.Life.Background); cluster.Unanswered(err) {
		cluster.NoteError(r.Life.Background, r.Redis, err)
		r.Log.Debug("the look for deaths failed", zap.Error(err))
		return nil // the next look finds them
	}
	return found()
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
