package poll

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/wakeups"
	"github.com/slotmq/go-rmq/internal/upkeep/lookout"
	"github.com/slotmq/go-rmq/internal/upkeep/periodic"
	"github.com/slotmq/go-rmq/internal/upkeep/planner"
	"github.com/slotmq/go-rmq/internal/upkeep/policies"
	"github.com/slotmq/go-rmq/internal/upkeep/sweeper"
	"github.com/slotmq/go-rmq/internal/worker/flow"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// upkeep is what goes on beside the turns while somebody takes from a topic: it hears wake-ups, looks after the slots now and then,
// sends what plans say, removes notes, and reads the limit.
type upkeep struct {
	life         *lifetime.Lifetime
	scheduled    *schedule.Topic
	subscriber   *wakeups.Subscriber
	subscription *wakeups.Subscription
	presence     presence
	lookout      *lookout.Lookout
	policies     *policies.Policies
	planner      *planner.Planner
	sweeper      *sweeper.Sweeper // nil: the topic has no notes
}

func newUpkeep(t *topic) *upkeep {
	p, cfg, all := t.process, t.process.cfg, []*schedule.Topic{t.scheduled}
	u := &upkeep{life: t.life, scheduled: t.scheduled, presence: presence{t}}
	needs := periodic.Needs{Life: t.life, Redis: cfg.Redis, Scripts: p.scripts, Schedule: t.schedule, Log: p.log, Away: t.away}
	u.lookout = lookout.New(lookout.Config{Needs: needs, BeforeTakeover: func(*schedule.Topic) {}}, all, func(*schedule.Topic) time.Duration { return cfg.SafetyLook })
	u.planner = planner.New(planner.Config{Needs: needs, Observers: p.observers, Journal: cfg.Journal},
		[]*planner.Topic{{Topic: t.definition, Qualified: t.qualified, Scheduled: t.scheduled, Look: cfg.SafetyLook}})
	if t.definition.Notes {
		u.sweeper = sweeper.New(needs, []*sweeper.Topic{{Name: t.qualified, Scheduled: t.scheduled, Look: cfg.SafetyLook}})
	}
	u.policies = policies.New(policies.Config{
		Needs: needs, Topics: []string{t.qualified}, Period: refresh,
		Changed: func(_ int, p protocol.Policy) { // the zero Policy is no limit
			t.rate.limit(p.Rate)
			t.out.limit(p.Concurrency)
		},
	})
	u.subscriber = &wakeups.Subscriber{
		Life: t.life, Redis: cfg.Redis, Topics: []wakeups.Topic{{Name: t.qualified, Slots: t.definition.Slots}}, Handler: handler{u},
		Silence: wakeups.SilenceOf(cfg.Redis), Log: p.log, Away: t.away,
	}
	return u
}

// begin subscribes to the wake-ups, reads the limit, and notes that this process takes from the topic.
func (u *upkeep) begin(ctx context.Context) (err error) {
	if u.subscription, err = u.subscriber.Subscribe(ctx); err != nil {
		return err
	}
	u.policies.Begin(ctx)
	if err := u.presence.tell(ctx); err != nil {
		_ = u.subscription.Close()
		u.policies.End()
		return err
	}
	return nil
}

// run goes on with it until the topic is closed.
func (u *upkeep) run() {
	u.life.Go(func() { u.subscriber.Run(u.subscription) })
	u.life.Go(u.lookout.Run)
	u.life.Go(u.policies.Run)
	u.life.Go(u.planner.Run)
	u.life.Go(u.presence.run)
	if u.sweeper != nil {
		u.life.Go(u.sweeper.Run)
		u.sweeper.Hurry(u.scheduled)
	}
	u.planner.Hurry(u.scheduled)
}

// end is called when nothing of that goes on any more.
func (u *upkeep) end() {
	u.policies.End()
	u.presence.end(u.life.Requests)
}

// handler acts on what is published about the topic.
type handler struct{ *upkeep }

// Woken has a slot look when something is due there.
func (h handler) Woken(_, slot int, in time.Duration) { h.scheduled.Wake(slot, in) }

// Asked does nothing: a batch that is out is carried by who took it, until its time to run is over.
func (h handler) Asked(int, int, string) {}

// Cancelled does nothing: who has a batch learns it when it extends.
func (h handler) Cancelled(int, int) {}

// PlansChanged has the plans of a slot looked at.
func (h handler) PlansChanged(_, slot int) { h.planner.Look(h.scheduled, slot) }

// MembersChanged does nothing: all slots are this process's.
func (h handler) MembersChanged(int) {}

// PolicyChanged has the limit of the topic read.
func (h handler) PolicyChanged(int) { h.policies.Hurry(0) }

// Led does nothing: who takes decides how much.
func (h handler) Led(int, flow.Word) {}

// Overslept has all slots looked at.
func (h handler) Overslept(int) { h.lookout.Hurry(h.scheduled) }

// Missed makes up for whatever may have been missed.
func (h handler) Missed(int) {
	h.Overslept(0)
	h.planner.Hurry(h.scheduled)
	h.policies.Hurry(0)
}
