package consumer

import (
	"time"

	"github.com/slotmq/go-rmq/internal/worker/flow"
)

// wakeHandler acts on what other workers and producers publish.
type wakeHandler struct{ *running }

// Woken has a slot look when something is due there.
func (h wakeHandler) Woken(topic, slot int, in time.Duration) {
	h.scheduled[topic].Wake(slot, in)
}

// Asked lets a slot take a turn if this worker carries nothing of it.
func (h wakeHandler) Asked(topic, slot int, holder string) {
	h.scheduled[topic].Asked(slot, holder)
}

// Cancelled has the batch of a slot look which of its messages are to be cancelled.
func (h wakeHandler) Cancelled(topic, slot int) {
	for _, x := range h.scheduled[topic].Standing(slot) {
		asSlot(x).watchdog.Hurry()
	}
}

// PlansChanged has the plans of a slot looked at.
func (h wakeHandler) PlansChanged(topic, slot int) { h.planner.Look(h.scheduled[topic], slot) }

// MembersChanged has the slots shared out again.
func (h wakeHandler) MembersChanged(topic int) { h.fleet.Hurry(&h.topics[topic].Topic) }

// PolicyChanged has the limit of a topic read.
func (h wakeHandler) PolicyChanged(topic int) { h.policies.Hurry(topic) }

// Led has the handlers of a topic follow those of the worker that leads.
func (h wakeHandler) Led(topic int, w flow.Word) {
	h.topics[topic].handlers.Follow(w)
}

// Overslept has all slots of a topic looked at.
func (h wakeHandler) Overslept(topic int) { h.lookout.Hurry(h.scheduled[topic]) }

// Missed makes up for whatever may have been missed.
func (h wakeHandler) Missed(topic int) {
	h.Overslept(topic)
	h.planner.Hurry(h.scheduled[topic])
	h.MembersChanged(topic)
	h.PolicyChanged(topic)
}
