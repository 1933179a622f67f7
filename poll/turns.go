package poll

import (
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/worker"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// firstBusy, lastBusy: before another look at a slot that somebody has, the waiting doubles between these.
const firstBusy, lastBusy = 50 * time.Millisecond, 5 * time.Second

// turns is what the turns of a desk's slots ask for and come to: see worker.Face.
type turns struct{ *desk }

// Ask prepares a turn for somebody who waits. If nobody does, the slot waits, too, since there may be something in it.
func (d turns) Ask(h schedule.Hand) bool {
	x := asSlot(h.Slot)
	if x.ask(h) {
		return true
	}
	x.disengage(false)
	if x.Leaving() { // the desk closes
		x.Facts.Fence = 0
		x.Left(x.Facts)
	} else {
		x.Facts.More = true
		x.Rest(x.Facts, time.Time{})
	}
	return false
}

// Show does nothing: a batch is reported when it is known for whom it is.
func (turns) Show([]worker.Answer, time.Time) {}

// Answered notes what follows from any answer.
func (d turns) Answered(a *worker.Answer) {
	x := slotIn(a)
	d.unstick(x)
	if a.Code != protocol.Busy {
		d.back(x.Index)
	}
	if a.Code == protocol.Batch || a.Code == protocol.Busy {
		x.leave = false // the number has grown since, so earlier turns take nothing
	}
}

// Took gives a batch to whom it was taken for. What is to be read of it is not waited for here.
func (d turns) Took(a *worker.Answer) {
	h, s := d.took(slotIn(a), a.Answer)
	d.life.Go(func() {
		d.deliver(h, s)
		d.settled()
	})
}

// Busy lets a slot sleep that somebody else has.
func (d turns) Busy(a *worker.Answer) {
	x := slotIn(a)
	if x.Facts.Holder != a.Holder {
		x.Facts.Holder, x.busy = a.Holder, 0
	}
	x.busy = busyPause(x.busy)
	d.sleep(x, time.Now().Add(min(x.busy, a.Wait+time.Millisecond)))
}

// busyPause is the pause behind one before another look at a slot that somebody has.
func busyPause(before time.Duration) time.Duration { return min(max(firstBusy, 2*before), lastBusy) }

// Nothing lets a slot sleep that has nothing to take. If the turn was sent more than once, one of the copies may still
// come to Redis when there is something: so the slot is left first, which makes its number larger.
func (d turns) Nothing(a *worker.Answer, at time.Time) {
	x := slotIn(a)
	if a.Repeated {
		x.leave, x.rest = true, at
		x.Again(x.Facts, time.Time{})
		return
	}
	d.sleep(x, at)
}

// Left has a slot look once more, at which no earlier turn can take anything: what was sent since it last looked woke it
// while it was leaving.
func (d turns) Left(a *worker.Answer) {
	x := slotIn(a)
	x.leave = false
	if a.Code == protocol.Busy {
		d.Busy(a)
		return
	}
	x.Facts.More = !x.Leaving()
	d.sleep(x, x.rest)
}

// Unanswered lets others wait for slots whose servers answer.
func (d turns) Unanswered(a *worker.Answer) {
	x := slotIn(a)
	switch {
	case errors.Is(a.Err, redis.ErrClosed) && x.Leaving(): // it is dropped
		x.disengage(true)
		d.unstick(x)
	case x.Facts.Failures > 1:
		x.disengage(true)
		d.stick(x, a.Err)
	}
}

// Applied tells those who wait when there is nothing.
func (d turns) Applied() { d.settled() }

// sleep lets a slot sleep until a time, or until it is woken if that is zero.
func (d turns) sleep(x *slot, at time.Time) {
	x.disengage(false)
	x.Rest(x.Facts, at)
}
