package poll

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/worker"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/message"
)

// topic is one that somebody takes from. A schedule says at which slots something is to be taken, as it does
// for a worker that has all slots; here a permit is somebody who waits. A turn is taken for one who waits, and
// not before there may be something: so nothing is asked while everybody waits.
type topic struct {
	process *process
	name    string
	log     *zap.Logger
	life    *lifetime.Lifetime
	queue   *queue
	out     *outstanding
	rate    *rate
	opened  chan struct{} // closed when what is below is set
	failed  error         // why it could not be opened
	works   atomic.Bool   // it could be
	closed  chan struct{} // closed when the topic is no more

	definition message.Topic
	qualified  string
	away       *away.Watch
	schedule   *schedule.Schedule
	scheduled  *schedule.Topic
	worker     *worker.Worker
	upkeep     *upkeep
}

func newTopic(p *process, name string) *topic {
	t := &topic{
		process: p, name: name, log: p.log.With(zap.String("topic", name)), life: lifetime.New(),
		out: &outstanding{until: map[int]time.Time{}}, rate: &rate{processes: 1}, opened: make(chan struct{}), closed: make(chan struct{}),
	}
	t.queue = &queue{out: t.out}
	t.out.changed = t.queue.admit
	return t
}

// build makes what the topic needs, when its definition is known.
func (t *topic) build() {
	t.scheduled = &schedule.Topic{
		Name: t.name, Slots: t.definition.Slots, Most: mostWaiting,
		NewSlot: func(index int) *schedule.Slot { return newSlot(t, index) },
	}
	t.schedule = schedule.New(mostWaiting, []*schedule.Topic{t.scheduled}, time.Now, func(*schedule.Slot, time.Time) {})
	t.schedule.Terms.Begin(t)
	t.scheduled.Allow(schedule.ByFlow, 0)
	t.queue.schedule, t.queue.scheduled, t.rate.scheduled = t.schedule, t.scheduled, t.scheduled
	t.worker = worker.New(worker.Config{
		Life: t.life, Redis: t.process.cfg.Redis, Scripts: t.process.scripts, Schedule: t.schedule, Away: t.away, Log: t.log, Face: turns{t}, Hurries: true,
	})
	t.upkeep = newUpkeep(t)
}

// ID is for the schedule, which names turns by it. The ids of a topic's turns are those of their batches.
func (t *topic) ID(int) string { return t.process.cfg.Worker }

// run takes turns for those who wait, until the topic is closed.
func (t *topic) run() {
	t.worker.Locate(t.scheduled, t.qualified)
	all := make([]int, t.definition.Slots)
	for i := range all {
		all[i] = i
	}
	t.scheduled.Assign(t, all)
	t.worker.Start()
	t.life.Go(t.schedule.Alarm)
	t.upkeep.run()
}

// freed notes that a batch was finished by this process. It is false if nobody here waits.
func (t *topic) freed(slot int, fence int64) bool {
	t.out.remove(slot)
	for _, x := range t.scheduled.Standing(slot) {
		asSlot(x).finished.Store(fence)
	}
	t.scheduled.Wake(slot, 0)
	return t.queue.length() > 0
}
