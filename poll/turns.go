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

// turns is what the turns of a topic's slots ask for and come to: see worker.Face.
type turns struct{ *topic }

// Ask prepares a turn for somebody who waits. If nobody does, the slot waits, too, since there may be something in it.
func (t turns) Ask(h schedule.Hand) bool {
	x := asSlot(h.Slot)
	if x.ask(h) {
		return true
	}
	x.release(false)
	if x.Leaving() { // the topic closes
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
func (t turns) Answered(a *worker.Answer) {
	x := slotIn(a)
	t.queue.unblock(x)
	if a.Code != protocol.Busy {
		t.out.remove(x.Index)
	}
	if a.Code == protocol.Batch || a.Code == protocol.Busy {
		x.leave = false // the number has grown since, so earlier turns take nothing
	}
}

// Took gives a batch to whom it was taken for. What is to be read of it is not waited for here.
func (t turns) Took(a *worker.Answer) {
	d := t.taken(slotIn(a), &a.Answer)
	t.life.Go(func() {
		d.run()
		t.queue.settle()
	})
}

// Busy lets a slot sleep that somebody else has.
func (t turns) Busy(a *worker.Answer) {
	x := slotIn(a)
	if x.Facts.Holder != a.Holder {
		x.Facts.Holder, x.busy = a.Holder, 0
	}
	x.busy = busyPause(x.busy)
	t.sleep(x, time.Now().Add(min(x.busy, a.Wait+time.Millisecond)))
}

// busyPause is the pause behind one before another look at a slot that somebody has.
func busyPause(before time.Duration) time.Duration { return min(max(firstBusy, 2*before), lastBusy) }

// Nothing lets a slot sleep that has nothing to take. If the turn was sent more than once, one of the copies may still
// come to Redis when there is something: so the slot is left first, which makes its number larger.
func (t turns) Nothing(a *worker.Answer, at time.Time) {
	x := slotIn(a)
	if a.Repeated {
		x.leave, x.rest = true, at
		x.Again(x.Facts, time.Time{})
		return
	}
	t.sleep(x, at)
}

// Left has a slot look once more, at which no earlier turn can take anything: what was sent since it last looked woke it
// while it was leaving.
func (t turns) Left(a *worker.Answer) {
	x := slotIn(a)
	x.leave = false
	if a.Code == protocol.Busy {
		t.Busy(a)
		return
	}
	x.Facts.More = !x.Leaving()
	t.sleep(x, x.rest)
}

// Unanswered lets others wait for slots whose servers answer.
func (t turns) Unanswered(a *worker.Answer) {
	x := slotIn(a)
	switch {
	case errors.Is(a.Err, redis.ErrClosed) && x.Leaving(): // it is dropped
		x.release(true)
		t.queue.unblock(x)
	case x.Facts.Failures > 1:
		x.release(true)
		t.queue.block(x, a.Err)
	}
}

// Applied tells those who wait when there is nothing.
func (t turns) Applied() { t.queue.settle() }

// sleep lets a slot sleep until a time, or until it is woken if that is zero.
func (t turns) sleep(x *slot, at time.Time) {
	x.release(false)
	x.Rest(x.Facts, at)
}
