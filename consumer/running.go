package consumer

import (
	"context"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/observers"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/servers/frozen"
	"github.com/slotmq/go-rmq/internal/servers/wakeups"
	"github.com/slotmq/go-rmq/internal/sharing/fleet"
	"github.com/slotmq/go-rmq/internal/upkeep/deaths"
	"github.com/slotmq/go-rmq/internal/upkeep/lookout"
	"github.com/slotmq/go-rmq/internal/upkeep/periodic"
	"github.com/slotmq/go-rmq/internal/upkeep/planner"
	"github.com/slotmq/go-rmq/internal/upkeep/policies"
	"github.com/slotmq/go-rmq/internal/upkeep/sweeper"
	"github.com/slotmq/go-rmq/internal/worker"
	"github.com/slotmq/go-rmq/internal/worker/breaker"
	"github.com/slotmq/go-rmq/internal/worker/expiry"
	"github.com/slotmq/go-rmq/internal/worker/flow"
	"github.com/slotmq/go-rmq/internal/worker/gate"
	"github.com/slotmq/go-rmq/internal/worker/intake"
	"github.com/slotmq/go-rmq/internal/worker/longrun"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/internal/worker/takeoverdelay"
	"github.com/slotmq/go-rmq/internal/worker/watchdog"
)

// running is all that does the work between Start and Close.
type running struct {
	life       *lifetime.Lifetime
	away       *away.Watch
	topics     []*topic
	publisher  *wakeups.Publisher
	fleet      *fleet.Fleet
	schedule   *schedule.Schedule
	scheduled  []*schedule.Topic // as topics
	needs      periodic.Needs
	turns      *turns
	worker     *worker.Worker
	lookout    *lookout.Lookout
	subscriber *wakeups.Subscriber
	policies   *policies.Policies
	planner    *planner.Planner
	deaths     *deaths.Reporter     // nil: no topic has a listener to the dead
	sweeper    *sweeper.Sweeper     // nil: no topic has notes
	observers  *observers.Observers // nil: nothing observes
	events     *events              // nil: likewise
	outages    *gate.Outages
	longRuns   *longrun.Reporter
}

// newRunning makes the fleet, which compares the definitions. The rest waits until they agree:
// only then is it known how many slots there are.
func newRunning(c *Consumer) *running {
	w := &running{life: lifetime.New(), topics: c.topics}
	w.away = &away.Watch{Log: c.away, Redis: c.rdb, Ctx: w.life.Background, Go: func(look func()) bool {
		w.life.Go(look)
		return true
	}}
	w.publisher = &wakeups.Publisher{Life: w.life, Redis: c.rdb, Log: c.log}
	shared := make([]*fleet.Topic, len(c.topics))
	for i, t := range c.topics {
		shared[i], t.MaxLate = &t.Topic, t.opts.MaxLate
	}
	w.fleet = c.shares(fleet.Config{
		ID: c.id, Namespace: c.cfg.Namespace, Sharing: c.cfg.Slots, Lease: c.cfg.Lease, Recheck: c.recheck,
		Redis: c.rdb, Scripts: c.scripts, Life: w.life, Publisher: w.publisher, Topics: shared, Away: w.away,
		Log: c.log, Logger: c.cfg.Logger,
		Gained:     w.gained,
		HolderDied: func(slots []*schedule.Slot) { w.turns.takeoverDelays.Await(topicsOf(slots)) },
	})
	return w
}

// build makes everything else.
func (w *running) build(c *Consumer) {
	w.scheduled = make([]*schedule.Topic, len(w.topics))
	for i, t := range w.topics {
		w.scheduled[i] = t.schedule() // anew, if an earlier start failed
		t.handlers = intake.NewHandlers(intake.HandlersConfig{
			Worker: c.id, Least: t.opts.Flow.Min, Most: t.opts.Flow.Max, Topic: t.scheduled, Slots: t.Slots,
			Lead: func(f flow.Word) { w.publisher.Lead(t.Qualified, f) },
		})
	}
	w.schedule = schedule.New(c.cfg.Concurrency, w.scheduled, time.Now, goOn)
	w.needs = periodic.Needs{Life: w.life, Redis: c.rdb, Scripts: c.scripts, Schedule: w.schedule, Log: c.log, Away: w.away}
	watching := c.cfg.Observers
	if c.cfg.Journal != nil {
		watching = append(slices.Clone(watching), c.cfg.Journal)
	}
	if w.observers = observers.New(watching, c.log); w.observers != nil {
		w.events = &events{life: w.life, observers: w.observers, schedule: w.schedule}
		w.schedule.Moves.Record()
	}
	w.outages = gate.NewOutages(gate.OutagesConfig{
		Life: w.life, Scripts: c.scripts, Log: c.log, Observers: w.observers,
		Worker: func() string { return w.fleet.Present().Worker() }, Done: w.schedule.Done(),
	})
	w.longRuns = newLongRuns(c, w)
	for _, t := range w.topics {
		t.gate = w.newGate(c, t)
	}
	w.makeReporter(c)
	w.makePlanner(c)
	w.makeSweeper()
	hide := logs.Privacy(c.cfg.HideContents)
	delays := &takeoverdelay.Delays{Config: takeoverdelay.Config{
		Life: w.life, Redis: c.rdb, Schedule: w.schedule, Log: c.log, Present: func() takeoverdelay.Term { return w.fleet.Present() },
	}}
	w.turns = &turns{
		rdb: c.rdb, schedule: w.schedule, pace: c.pace,
		batches: &batches{
			life: w.life, schedule: w.schedule, rdb: c.rdb, scripts: c.scripts, pace: c.pace, log: c.log, away: w.away,
			server: expiry.Server{Redis: c.rdb, Requests: w.life.Requests}, hide: hide, watching: watchdog.Config{Life: w.life, Scripts: c.scripts, Away: w.away, Hide: hide, AskEvery: c.cfg.Lease / 3},
		},
		takeoverDelays: delays, fleet: w.fleet, publisher: w.publisher, deaths: w.deaths, sweeper: w.sweeper, events: w.events,
	}
	w.worker = worker.New(worker.Config{
		Life: w.life, Redis: c.rdb, Scripts: c.scripts, Schedule: w.schedule, Away: w.away, Log: c.log, Face: w.turns,
	})
	for _, t := range w.topics {
		w.worker.Locate(t.scheduled, t.Qualified)
	}
	w.lookout = lookout.New(lookout.Config{
		Needs: w.needs, BeforeTakeover: func(t *schedule.Topic) { delays.AskIfDue(&asTopic(t).takeoverDelay) },
	}, w.scheduled, func(t *schedule.Topic) time.Duration { return asTopic(t).opts.SafetyLook })
	w.makePolicies()
	w.makeSubscriber(c)
}

// makePolicies makes what limits topics as a person has said.
func (w *running) makePolicies() {
	names := make([]string, len(w.topics))
	for i, t := range w.topics {
		names[i] = t.Qualified
		w.limit(t, protocol.Policy{})
	}
	w.policies = policies.New(policies.Config{
		Needs: w.needs, Topics: names, Period: fleet.Recheck,
		Changed: func(topic int, p protocol.Policy) { w.limit(w.topics[topic], p) },
	})
}

// makeSubscriber makes what hears the wake-ups of the topics.
func (w *running) makeSubscriber(c *Consumer) {
	heard := make([]wakeups.Topic, len(w.topics))
	for i, t := range w.topics {
		heard[i] = wakeups.Topic{Name: t.Qualified, Slots: t.Slots}
	}
	w.subscriber = &wakeups.Subscriber{Life: w.life, Redis: c.rdb, Topics: heard, Handler: wakeHandler{w}, Silence: c.silence, Log: c.log, Away: w.away}
}

// newGate makes the gate of a topic. Where a test moves the clock of Redis no breaker would ever
// see its pauses end.
func (w *running) newGate(c *Consumer, t *topic) *gate.Gate {
	cfg := gate.Config{Places: t.scheduled, Most: t.opts.Concurrency, Within: t.opts.hung, Report: w.outages.Of(t.Topic.Topic, t.Qualified)}
	if !t.opts.NoBreaker && frozen.Clock(c.rdb) == nil {
		cfg.Breaker = breaker.New(cfg.Most, c.longestPause)
	}
	return gate.New(cfg)
}

// newLongRuns makes what shows people which messages are handled for long.
func newLongRuns(c *Consumer, w *running) *longrun.Reporter {
	topics := make([]*longrun.Topic, len(w.topics))
	for i, t := range w.topics {
		topics[i] = &longrun.Topic{
			Name: t.Name, Qualified: t.Qualified, Scheduled: t.scheduled,
			Runs: func(x *schedule.Slot, now time.Time, atLeast time.Duration) (protocol.Running, bool) {
				return asSlot(x).watchdog.Long(now, atLeast)
			},
		}
	}
	return longrun.New(longrun.Config{Life: w.life, Redis: c.rdb, Schedule: w.schedule, Log: c.log, Long: c.longRun}, topics)
}

// gained has the slots of a topic looked at, some of which are new to the worker.
func (w *running) gained(t *schedule.Topic) {
	w.lookout.Hurry(t)
	w.planner.Hurry(t)
	if w.deaths != nil {
		w.deaths.Hurry(t)
	}
	if w.sweeper != nil {
		w.sweeper.Hurry(t)
	}
}

// run begins the work. The worker has joined the others.
func (w *running) run(sub *wakeups.Subscription) {
	w.worker.Start()
	w.life.Go(w.schedule.Alarm)
	w.life.Go(func() { w.subscriber.Run(sub) })
	w.life.Go(w.fleet.Run)
	w.life.Attend(w.fleet.Attend)
	w.life.Go(w.lookout.Run)
	w.life.Go(w.policies.Run)
	w.life.Go(w.planner.Run)
	w.life.Go(w.outages.Run)
	w.life.Go(w.longRuns.Run)
	if w.deaths != nil {
		w.life.Go(w.deaths.Run)
	}
	if w.sweeper != nil {
		w.life.Go(w.sweeper.Run)
	}
	if w.events != nil {
		w.life.Go(w.events.run)
	}
}

// leaveFleet takes the worker out, within grace.
func (w *running) leaveFleet(how func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(w.life.Requests, grace)
	defer cancel()
	how(ctx)
}

// leave leaves every slot and returns when nothing of the worker runs any more.
func (w *running) leave() {
	// The others learn first that the slots are theirs, so that they wait for
	// each as it is left.
	w.leaveFleet(w.fleet.Leave)
	w.schedule.Stop()
	w.schedule.WaitIdle()
	w.schedule.Close()
	for _, t := range w.topics {
		t.gate.Close()
	}
	w.life.EndListening()
	w.life.Wait()
	w.policies.End()
	w.fleet.End()
}

// grace is how long Close waits for handlers whose context it has cancelled,
// and for the last answers of Redis.
const grace = 2 * time.Second
