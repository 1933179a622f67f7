package consumer

import (
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/wakeups"
	"github.com/slotmq/go-rmq/internal/sharing/fleet"
	"github.com/slotmq/go-rmq/internal/upkeep/deaths"
	"github.com/slotmq/go-rmq/internal/upkeep/sweeper"
	"github.com/slotmq/go-rmq/internal/worker"
	"github.com/slotmq/go-rmq/internal/worker/intake"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/internal/worker/takeoverdelay"
)

// silentHolder, or a quarter of its lease if that is more, is what a holder that lives never has left of it: it renews it after a
// third. A busy slot looks some times until that is over, also on a machine that is late.
const silentHolder = intake.LastBusy + 100*time.Millisecond

// turns is what the turns of a consumer's slots ask for and come to: see worker.Face.
type turns struct {
	rdb            redis.UniversalClient
	schedule       *schedule.Schedule
	pace           *intake.Pace
	batches        *batches
	takeoverDelays *takeoverdelay.Delays
	fleet          *fleet.Fleet
	publisher      *wakeups.Publisher
	deaths         *deaths.Reporter // nil: no topic has a listener to the dead
	sweeper        *sweeper.Sweeper // nil: no topic has notes
	events         *events          // nil: nothing observes
}

// Ask prepares the next turn of a slot.
func (c *turns) Ask(h schedule.Hand) bool {
	asSlot(h.Slot).ask(h)
	return true
}

// Show shows answers to the observers.
func (c *turns) Show(all []worker.Answer, at time.Time) {
	taken := 0
	for i := range all {
		taken += len(all[i].Contents)
	}
	c.pace.Took(taken, at, c.schedule.Busy) // first: the batches go by it
	if c.events != nil {
		c.events.answers(all)
	}
}

// Answered has those know of an answer who wait for one.
func (c *turns) Answered(a *worker.Answer) {
	x := slotIn(a)
	if a.Repeated {
		logOf(x.Scheduled()).Debug("turns are answered again", zap.Int("repeated", x.Facts.Failures))
	}
	if a.Forgotten { // then Redis may not know the worker either
		c.fleet.Hurry(&x.topic.Topic)
	}
	if c.deaths != nil && mayHaveKilled(a) {
		c.deaths.Look(x.Scheduled().Topic(), x.Index)
	}
	if x.over != nil {
		c.sweeper.Forget(x.Scheduled().Topic(), x.Index, x.over)
		x.over = nil
	}
	if x.Facts.Held && (a.Code == protocol.Number || a.Code == protocol.Busy) {
		finishRefused(x, a.Repeated)
	}
	if a.Code != protocol.Batch && a.Code != protocol.Number {
		x.empty()
	}
	if a.Code != protocol.Busy {
		x.busy.End()
	}
}

// Took has a batch handled.
func (c *turns) Took(a *worker.Answer) {
	c.batches.handle(slotIn(a), a.Answer, !a.Repeated && a.Fence > a.Slot.Turn.Fence)
}

// Nothing lets a slot sleep.
func (c *turns) Nothing(a *worker.Answer, at time.Time) {
	a.Slot.Rest(a.Slot.Facts, at)
}

// Busy lets a slot sleep that another worker holds, and looks into that holder.
func (c *turns) Busy(a *worker.Answer) {
	x := slotIn(a)
	logOf(x.Scheduled()).Debug("slot is busy", zap.String("holder", a.Holder), zap.Duration("lease", a.Wait))
	now := time.Now()
	if x.Facts.Holder != a.Holder {
		x.Facts.Holder = a.Holder
		x.busy.Begin(now)
	}
	lasts, ask, pause := x.busy.Still(now)
	if ask {
		c.publisher.Ask(x.topic.Qualified, x.Index, a.Holder)
	}
	x.term().Suspect(x.Scheduled(), a.Holder, lasts)
	if lease := x.term().Lease(); lease > 0 && a.Wait < max(silentHolder, lease/4) { // else it is proven dead, or keeps its lease
		c.takeoverDelays.Ask(&x.topic.takeoverDelay)
	}
	x.Rest(x.Facts, time.Now().Add(pause))
}

// Left notes that a slot was left, and wakes the worker that works at it next.
func (c *turns) Left(a *worker.Answer) {
	x := slotIn(a)
	if x.Leaving() {
		x.Facts.Fence = 0
		c.publisher.Left(x.topic.Qualified, x.Index)
	}
	x.Left(x.Facts)
}

// Unanswered notes an error that lasts.
func (c *turns) Unanswered(a *worker.Answer) { slotIn(a).topic.meets(a.Err) }

// Applied does nothing: nobody waits for a turn.
func (c *turns) Applied() {}

// finishRefused notes that the turn which was to finish a batch was not the one that did.
//
// A turn that was sent once is refused because the batch was taken over. A turn that was
// repeated may have been executed before, its answer lost, and the slot be another's by
// now. (So it is with every leave whose answer gets lost.) That proves nothing. If the
// batch was taken over after all, so will be the next one.
func finishRefused(x *slot, repeated bool) {
	if repeated {
		logOf(x.Scheduled()).Info("answers of Redis got lost: the batch was finished, or it was taken over and its messages may be handled again")
		return
	}
	logOf(x.Scheduled()).Warn("the batch was taken over before it was finished: its messages may be handled again")
	x.term().Overtaken()
}
