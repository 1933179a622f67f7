package consumer

import "time"

// attendance has each topic attended to now and then: by the fleet, and its definition
// compared.
type attendance struct {
	shift       *shift
	fleet       fleet
	definitions *definitions
	plan        *timetable
}

// planAttendance returns when each topic is attended to.
func planAttendance(topics []*topic, lease time.Duration, f fleet) *timetable {
	plan := newTimetable(topics, gapOf(lease/3), func(t *topic) time.Duration { return f.next(t, time.Now()) })
	for _, t := range topics {
		if t.newcomer.Load() {
			plan.set(t, time.Now().Add(f.next(t, time.Now())))
		}
	}
	return plan
}

// run attends to the topics until the worker closes.
func (c *attendance) run() {
	for topics := c.plan.next(c.shift.background); topics != nil; topics = c.plan.next(c.shift.background) {
		for _, t := range topics {
			refused := t.refused.Load()
			c.definitions.renew(t)
			if !refused {
				c.fleet.attend(t)
			}
		}
	}
}
