package fleet

import (
	"context"

	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// Fleet is this worker's side of the sharing. Call Agree, then Join. After that call either
// Undo, or Run and Attend in goroutines of their own, then Leave, and then End or Abandon.
// Hurry and Present may be called from Join on.
type Fleet struct {
	parts       *parts
	sharing     sharing
	definitions *definitions
	attendance  *attendance // once the worker has joined
}

// ByRedis returns a fleet that shares the slots out by lists of members in Redis.
func ByRedis(c Config) *Fleet { return newFleet(c, newByRedis) }

// ByZooKeeper returns a fleet that shares the slots out by ZooKeeper.
func ByZooKeeper(c Config) *Fleet { return newFleet(c, newByZooKeeper) }

func newFleet(c Config, by func(*parts) sharing) *Fleet {
	p := &parts{Config: c, terms: &terms{life: c.Life, topics: c.Topics, gained: c.Gained}}
	f := &Fleet{parts: p, sharing: by(p)}
	f.definitions = newDefinitions(p, f.sharing.defined)
	p.agree = f.definitions.agree
	return f
}

// Agree returns an error if the Redis user may not do what a worker does, or if a topic is
// defined differently. It fills in the number of slots where a topic leaves it open.
func (f *Fleet) Agree(ctx context.Context) error {
	if err := f.definitions.allowed(ctx); err != nil {
		return err
	}
	return f.definitions.agree(ctx)
}

// Join makes the worker known to the others, and begins its first term: from then on the
// slots of the scheduled topics, which are in the order of Config.Topics, are assigned in s.
func (f *Fleet) Join(ctx context.Context, s *schedule.Schedule, scheduled []*schedule.Topic) error {
	f.parts.schedule = s
	f.parts.terms.schedule = s
	for i, t := range f.parts.Topics {
		t.begin(scheduled[i])
	}
	if err := f.sharing.join(ctx); err != nil {
		return err
	}
	f.attendance = newAttendance(f.parts, f.sharing, f.definitions)
	return nil
}

// Undo undoes Join, also one that failed. No slot was worked at.
func (f *Fleet) Undo(ctx context.Context) { f.out(ctx, f.sharing.undo) }

// Run keeps the worker in a term until the schedule is closed.
func (f *Fleet) Run() { f.sharing.run() }

// Attend keeps the worker among those that share the slots out, and compares the
// definitions, until the worker closes.
func (f *Fleet) Attend() { f.attendance.run() }

// Hurry makes Attend look at a topic now.
func (f *Fleet) Hurry(t *Topic) { f.attendance.plan.Hurry(t) }

// Present is the worker's term, or the last one; nil before the first.
func (f *Fleet) Present() *Term { return f.parts.terms.present.Load() }

// Leave makes the others take the worker's slots, which it has not left yet. If it cannot,
// they notice when the worker's lease or session ends.
func (f *Fleet) Leave(ctx context.Context) { f.out(ctx, f.sharing.leave) }

// out takes the worker out. What refreshes the lists of members must end before: it would
// put the worker back.
func (f *Fleet) out(ctx context.Context, how func(ctx context.Context)) {
	f.parts.Life.EndBackground()
	_ = f.parts.Life.Attended(ctx) // a Redis client may ignore ctx
	how(ctx)
}

// End ends the last term when every slot has been left.
func (f *Fleet) End() { f.sharing.end() }

// Abandon ends the last term while some slots could not be left.
func (f *Fleet) Abandon() { f.sharing.abandon() }

// Silent is the error of Close when every slot has been left, but something else does not
// end.
func (f *Fleet) Silent() error { return f.sharing.silent() }
