package consumer

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/internal/schedule"
	"github.com/slotmq/go-rmq/internal/wait"
)

// crew is all that does the work between Start and Close.
type crew struct {
	shift       *shift
	schedule    *schedule.Schedule
	fleet       fleet
	parts       *parts // of the fleet
	definitions *definitions
	takers      *takers
	lookout     *lookout
	wakeups     *wakeups
	attendance  *attendance
}

// newCrew makes what compares the definitions. The rest waits until they agree: only then is
// it known how many slots there are.
func newCrew(c *Consumer) *crew {
	s := newShift()
	a := &announcer{shift: s, rdb: c.rdb, log: c.log}
	p := &parts{
		cfg: c.cfg, id: c.id, rdb: c.rdb, scripts: c.scripts, shift: s, topics: c.topics,
		terms: &c.terms, announcer: a, log: c.log,
	}
	w := &crew{shift: s, parts: p, fleet: c.shares(p)}
	w.definitions = newDefinitions(p, w.fleet.sharing, c.recheck)
	p.agree = w.definitions.agree
	return w
}

// prepare makes everything else.
func (w *crew) prepare(c *Consumer) {
	var scheduled []*schedule.Topic
	for i, t := range c.topics {
		t.part = float64(i+1) / float64(len(c.topics))
		scheduled = append(scheduled, t.prepare(newSlot)) // anew, if an earlier start failed
	}
	p, looks := w.parts, planLooks(c.topics)
	w.schedule = schedule.New(c.cfg.Concurrency, scheduled, time.Now, goOn)
	c.terms.shift, c.terms.schedule, c.terms.topics, c.terms.looks = w.shift, w.schedule, c.topics, looks
	takeovers := &takeovers{shift: w.shift, rdb: c.rdb, schedule: w.schedule, terms: &c.terms, log: c.log}
	p.schedule, p.takeovers = w.schedule, takeovers
	w.takers = &takers{
		shift: w.shift, rdb: c.rdb, scripts: c.scripts, schedule: w.schedule, pace: &c.pace,
		batches:   &batches{shift: w.shift, schedule: w.schedule, scripts: c.scripts, pace: &c.pace, log: c.log},
		takeovers: takeovers, announcer: p.announcer, log: c.log,
	}
	w.takers.locate(c.topics)
	w.lookout = newLookout(w.shift, c.rdb, w.schedule, takeovers, looks, c.log)
	w.wakeups = &wakeups{
		shift: w.shift, rdb: c.rdb, topics: c.topics, schedule: w.schedule, looks: looks, silence: c.silence, log: c.log,
	}
}

// run begins the work. The worker has joined the others.
func (w *crew) run(c *Consumer, sub *subscription) {
	plan := planAttendance(c.topics, c.cfg.Lease, w.fleet)
	w.wakeups.lists, w.definitions.lists = plan, plan
	w.attendance = &attendance{shift: w.shift, fleet: w.fleet, definitions: w.definitions, plan: plan}
	for range takerCount {
		w.shift.running.Go(w.takers.run)
	}
	w.shift.running.Go(w.schedule.Alarm)
	w.shift.running.Go(func() { w.wakeups.run(sub) })
	w.shift.running.Go(w.fleet.run)
	w.shift.attending.Go(w.attendance.run)
	w.shift.running.Go(w.lookout.run)
}

// leaveFleet has the others take the worker's slots. What refreshes the lists of members must end
// before: it would put the worker back after it was taken out.
func (w *crew) leaveFleet(how func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(w.shift.requests, grace)
	defer cancel()
	w.shift.endBackground()
	_ = wait.Group(ctx, &w.shift.attending) // a Redis client need not heed ctx
	how(ctx)
}

// leave leaves every slot and returns when nothing of the worker runs any more.
func (w *crew) leave() {
	// The others learn first that the slots are theirs, so that they wait for
	// each as it is left.
	w.leaveFleet(w.fleet.leave)
	w.schedule.Stop()
	w.schedule.WaitIdle()
	w.schedule.Close()
	w.shift.endListening()
	w.shift.wait()
	w.fleet.end()
}

// grace is how long Close waits for handlers whose context it has cancelled,
// and for the last answers of Redis.
const grace = 2 * time.Second
