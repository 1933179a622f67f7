package poll

import (
	"time"

	"github.com/slotmq/go-rmq/internal/worker/flow"
)

// hearer acts on what is published about the topic of a desk.
type hearer struct{ *desk }

// Woken has a slot look when something is due there.
func (h hearer) Woken(_, slot int, in time.Duration) { h.scheduled.Wake(slot, in) }

// Asked does nothing: a batch that is out is carried by who took it, until its time to run is over.
func (h hearer) Asked(int, int, string) {}

// Cancelled does nothing: who has a batch learns it when it extends.
func (h hearer) Cancelled(int, int) {}

// PlansChanged has the plans of a slot looked at.
func (h hearer) PlansChanged(_, slot int) { h.planner.Look(h.scheduled, slot) }

// MembersChanged does nothing: all slots are the desk's.
func (h hearer) MembersChanged(int) {}

// PolicyChanged has the limit of the topic read.
func (h hearer) PolicyChanged(int) { h.policies.Hurry(0) }

// Led does nothing: who takes decides how much.
func (h hearer) Led(int, flow.Word) {}

// Overslept has all slots of a topic looked at.
func (h hearer) Overslept(int) { h.lookout.Hurry(h.scheduled) }

// Missed makes up for whatever may have been missed.
func (h hearer) Missed(int) {
	h.Overslept(0)
	h.planner.Hurry(h.scheduled)
	h.policies.Hurry(0)
}
