package fleet

import (
	"time"

	"github.com/slotmq/go-rmq/internal/upkeep/periodic"
)

// attendance goes through the topics now and then: it compares the definition, and calls
// sharing.attend. If a topic is refused, it only compares the definition.
type attendance struct {
	*parts
	sharing     sharing
	definitions *definitions
	plan        *periodic.Timetable[*Topic]
}

// newAttendance makes the plan. The worker has joined the others.
func newAttendance(p *parts, w sharing, d *definitions) *attendance {
	plan := periodic.NewTimetable(p.Topics, periodic.Gap(p.Lease/3), func(t *Topic) time.Duration { return w.next(t, time.Now()) })
	for _, t := range p.Topics {
		if t.newcomer.Load() {
			plan.Set(t, time.Now().Add(w.next(t, time.Now())))
		}
	}
	d.mended = plan.Hurry
	return &attendance{parts: p, sharing: w, definitions: d, plan: plan}
}

// run attends to the topics until the worker closes.
func (a *attendance) run() {
	for topics := a.plan.Next(a.Life.Background); topics != nil; topics = a.plan.Next(a.Life.Background) {
		for _, t := range topics {
			refused := t.refused.Load()
			a.definitions.renew(t)
			if !refused {
				a.sharing.attend(t)
			}
		}
	}
}
