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

// slot is one slot of a topic. Who has it in hand may use its fields: see package schedule.
type slot struct {
	worker.Slot
	topic   *topic
	batch   protocol.TakerBits // under which the slot takes its next batch; then that gets another one
	waiter  *waiter            // for whom it is; nil: that one has gone
	leave   bool               // an earlier turn may still come to Redis, and must not take anything
	rest    time.Time          // until when the slot sleeps then
	busy    time.Duration      // before another look at it, while somebody else has it
	blocked bool               // its turn had no answer, more than once

	finished atomic.Int64 // its number since a batch was finished, if this process did that
}

func newSlot(t *topic, index int) *schedule.Slot {
	x := &slot{topic: t, batch: newBits()}
	x.Init(t.definition, t.qualified, index, x)
	x.Turn.Due, x.Turn.HoldsNothing = true, true
	if !t.definition.Literal {
		x.Turn.TakeoverDelay = takeoverDelay
	}
	return x.Scheduled()
}

// takeoverDelay is how long messages wait whose batch was taken over from somebody who was silent.
const takeoverDelay = time.Second

// noBatchLease is what a turn names that leaves the slot: it may be any.
const noBatchLease = time.Second

func newBits() (b protocol.TakerBits) {
	_, _ = rand.Read(b[:]) // never fails
	return b
}

func asSlot(x *schedule.Slot) *slot { return x.Value.(*slot) }

// slotIn is the slot that an answer is for.
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
		x.Turn.Lease = noBatchLease
	case h.Leave:
		return false
	default:
		if x.waiter != nil && !x.waiter.waiting() { // since an answer NUMBER
			x.release(false)
		}
		if x.waiter == nil {
			x.waiter = x.topic.queue.serve()
		}
		if x.waiter == nil {
			return false
		}
		x.Turn.Lease, count = x.waiter.TTR, x.waiter.Most
		if h.Most > 0 {
			count = min(count, h.Most)
		}
	}
	if finished := x.finished.Swap(0); finished > x.Facts.Fence {
		x.Facts.Fence = finished
	}
	x.Turn.Worker, x.Turn.Fence, x.Turn.Count, x.Turn.Random = protocol.TakerID(x.topic.process.cfg.Worker, x.batch), x.Facts.Fence, count, mathrand.IntN(1<<30)
	x.Facts.Open = true
	return true
}

// release gives up for whom the turn was.
func (x *slot) release(unanswered bool) {
	x.waiter.release(unanswered)
	x.waiter = nil
}
