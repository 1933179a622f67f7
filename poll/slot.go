package poll

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/worker"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// slot is one slot of a topic at its desk. Who has it in hand may use its fields: see package schedule.
type slot struct {
	worker.Slot
	desk  *desk
	batch protocol.TakerBits // under which the slot takes its next batch; then that gets another one
	seat  *seat              // for whom it is; nil: that one has gone
	leave bool               // an earlier turn may still come to Redis, and must not take anything
	rest  time.Time          // until when the slot sleeps then
	busy  time.Duration      // before another look at it, while somebody else has it
	stuck bool               // its turn had no answer, more than once

	left atomic.Int64 // its number since a batch was finished, if this process did that
}

func newSlot(d *desk, index int) *schedule.Slot {
	x := &slot{desk: d, batch: newBits()}
	x.Init(d.topic, d.qualified, index, x)
	x.Turn.Due, x.Turn.HoldsNothing = true, true
	if !d.topic.Literal {
		x.Turn.TakeoverDelay = takeoverDelay
	}
	return x.Scheduled()
}

// takeoverDelay is how long messages wait whose batch was taken over from somebody who was silent.
const takeoverDelay = time.Second

func newBits() (b protocol.TakerBits) {
	_, _ = rand.Read(b[:]) // never fails
	return b
}

func asSlot(x *schedule.Slot) *slot { return x.Value.(*slot) }

// slotIn is the desk's side of the slot that an answer is for.
func slotIn(a *worker.Answer) *slot { return a.Slot.Value.(*slot) }

// ask prepares the next turn, unless the last one has no answer yet. It is false if none is needed: nobody waits any more.
func (x *slot) ask(h schedule.Hand) bool {
	x.Facts = h.Facts
	if x.Facts.Open {
		return true
	}
	count := 0
	switch {
	case x.leave:
		x.Turn.Lease = takeoverDelay // of no batch
	case h.Leave:
		return false
	default:
		if x.seat != nil && !x.seat.waits() { // since an answer NUMBER
			x.disengage(false)
		}
		if x.seat == nil {
			x.seat = x.desk.engage()
		}
		if x.seat == nil {
			return false
		}
		x.Turn.Lease, count = x.seat.TTR, x.seat.Most
		if h.Most > 0 {
			count = min(count, h.Most)
		}
	}
	if left := x.left.Swap(0); left > x.Facts.Fence {
		x.Facts.Fence = left
	}
	x.Turn.Worker, x.Turn.Fence, x.Turn.Count, x.Turn.Random = protocol.TakerID(x.desk.cfg.Worker, x.batch), x.Facts.Fence, count, mathrand.IntN(1<<30)
	x.Facts.Open = true
	return true
}

// disengage gives up for whom the turn was.
func (x *slot) disengage(unanswered bool) {
	x.desk.disengage(x.seat, unanswered)
	x.seat = nil
}
