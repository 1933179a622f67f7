package poll

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/servers/wakeups"
	"github.com/slotmq/go-rmq/internal/upkeep/lookout"
	"github.com/slotmq/go-rmq/internal/upkeep/planner"
	"github.com/slotmq/go-rmq/internal/upkeep/policies"
	"github.com/slotmq/go-rmq/internal/upkeep/sweeper"
	"github.com/slotmq/go-rmq/internal/worker"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/message"
)

// desk is where the takers of one topic wait. A schedule says at which slots something is to be taken, as it does
// for a worker that has all slots; here a place is somebody who waits. A turn is taken for one who waits, and
// not before there may be something: so nothing is asked while everybody waits.
type desk struct {
	*Poller
	name string // of the topic

	life   *lifetime.Lifetime
	opened chan struct{} // closed when what is below is set
	failed error         // why it could not be opened
	closed chan struct{} // closed when the desk is no more

	topic     message.Topic
	qualified string
	away      *away.Watch
	worker    *worker.Worker
	schedule  *schedule.Schedule
	scheduled *schedule.Topic
	lookout   *lookout.Lookout
	ears      *wakeups.Subscriber
	policies  *policies.Policies
	planner   *planner.Planner
	sweeper   *sweeper.Sweeper // nil: the topic has no notes

	mu      sync.Mutex
	seats   []*seat // who waits, in the order in which they came
	asking  []*seat // those of them that are not told yet that there is nothing
	serving int     // batches that are on their way to a seat
	stuck   int     // slots whose turns have no answer
	trouble error   // why nobody knows whether there is something
	idle    *time.Timer
	ending  bool
	given   bool // Close waits no longer
	limit   protocol.Policy
	others  int               // processes that take from the topic, this one included
	out     map[int]time.Time // batches that are out: the slot, and until when
	recount *time.Timer       // when the next of these is over; nil: none was
}

func newDesk(p *Poller, name string) *desk {
	return &desk{
		Poller: p, name: name, life: lifetime.New(), opened: make(chan struct{}), closed: make(chan struct{}), others: 1, out: map[int]time.Time{},
	}
}

// build makes what the desk needs, when the topic is known.
func (d *desk) build() {
	d.scheduled = &schedule.Topic{
		Name: d.name, Slots: d.topic.Slots, Most: MostWaiting, Value: d,
		NewSlot: func(index int) *schedule.Slot { return newSlot(d, index) },
	}
	d.schedule = schedule.New(MostWaiting, []*schedule.Topic{d.scheduled}, time.Now, func(*schedule.Slot, time.Time) {})
	d.schedule.Terms.Begin(d)
	d.scheduled.Allow(schedule.ByFlow, 0)
	cfg := d.cfg
	d.worker = worker.New(worker.Config{
		Life: d.life, Redis: cfg.Redis, Scripts: d.scripts, Schedule: d.schedule, Away: d.away, Log: d.log.With(zap.String("topic", d.name)), Face: turns{d}, Hurries: true,
	})
	d.lookout = lookout.New(lookout.Config{
		Life: d.life, Redis: cfg.Redis, Schedule: d.schedule, Log: d.log, Away: d.away, BeforeTakeover: func(*schedule.Topic) {},
	}, []*schedule.Topic{d.scheduled}, func(*schedule.Topic) time.Duration { return cfg.SafetyLook })
	d.planner = planner.New(planner.Config{
		Life: d.life, Redis: cfg.Redis, Scripts: d.scripts, Schedule: d.schedule, Observers: d.observers, Journal: cfg.Journal, Log: d.log, Away: d.away,
	}, []*planner.Topic{{Topic: d.topic, Qualified: d.qualified, Scheduled: d.scheduled, Look: cfg.SafetyLook}})
	if d.topic.Notes {
		d.sweeper = sweeper.New(sweeper.Config{Life: d.life, Redis: cfg.Redis, Scripts: d.scripts, Schedule: d.schedule, Log: d.log},
			[]*sweeper.Topic{{Name: d.qualified, Scheduled: d.scheduled, Look: cfg.SafetyLook}})
	}
	d.policies = policies.New(policies.Config{
		Life: d.life, Redis: cfg.Redis, Scripts: d.scripts, Topics: []string{d.qualified}, Period: refresh, Log: d.log, Away: d.away,
		Changed: func(_ int, p protocol.Policy) { d.setLimit(p) },
	})
	d.ears = &wakeups.Subscriber{
		Life: d.life, Redis: cfg.Redis, Topics: []wakeups.Topic{{Name: d.qualified, Slots: d.topic.Slots}}, Handler: hearer{d},
		Silence: wakeups.SilenceOf(cfg.Redis), Log: d.log, Away: d.away,
	}
}

// ID is for the schedule, which names turns by it. The ids of a desk's turns are those of their batches.
func (d *desk) ID(int) string { return d.cfg.Worker }

// run does the work of the desk until it is closed.
func (d *desk) run(sub *wakeups.Subscription) {
	d.worker.Locate(d.scheduled, d.qualified)
	all := make([]int, d.topic.Slots)
	for i := range all {
		all[i] = i
	}
	d.scheduled.Assign(d, all)
	d.worker.Start()
	d.life.Go(d.schedule.Alarm)
	d.life.Go(func() { d.ears.Run(sub) })
	d.life.Go(d.lookout.Run)
	d.life.Go(d.policies.Run)
	d.life.Go(d.planner.Run)
	d.life.Go(d.enlist)
	if d.sweeper != nil {
		d.life.Go(d.sweeper.Run)
		d.sweeper.Hurry(d.scheduled)
	}
	d.planner.Hurry(d.scheduled)
}
