package worker

import (
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// Answer is that of a slot's turn, or why there is none.
type Answer struct {
	protocol.Answer
	Slot *Slot
	Err  error

	Leaving   bool // the turn was to take nothing, and to leave the slot
	Repeated  bool // it was sent more than once, and may have been executed before this answer
	Forgotten bool // its number is below one that Redis had told: it came back empty, or with an older state
}

// Face is whose slots they are. Its methods are called by a writer, which has the slots in hand, and must not wait.
type Face interface {
	// Ask prepares the turn of a slot. It returns false if none is needed, and has given the slot back then.
	Ask(h schedule.Hand) bool

	// Show shows the answers of a write, at a time, to whoever observes. It may end the goroutine.
	Show(all []Answer, at time.Time)

	// Answered is the first to know of an answer: the slot's Facts are those from before the turn.
	Answered(a *Answer)

	// Took has a batch. It gives the slot back.
	Took(a *Answer)

	// Busy is told that somebody else has the slot, and gives it back.
	Busy(a *Answer)

	// Nothing is told that there is nothing to take before a time, or, if that is zero, before a wake-up, and gives the
	// slot back.
	Nothing(a *Answer, at time.Time)

	// Left is told that the slot was left, and gives it back.
	Left(a *Answer)

	// Unanswered is told that the turn has no answer, and will be repeated.
	Unanswered(a *Answer)

	// Applied is told that all is done which the answers of a write said.
	Applied()
}

// pausedLook is how long a paused slot sleeps.
const pausedLook = 5 * time.Second

// answer does what the answer of a slot's turn says.
func (w *Worker) answer(a *Answer) {
	x := a.Slot
	a.Leaving, a.Repeated = x.Turn.Count == 0, x.Facts.Failures > 0
	a.Forgotten = a.Code != protocol.Busy && w.Away.Fence(x.Turn.Keys.Store, x.Facts.Fence, a.Fence)
	w.Face.Answered(a)
	x.settle(a)
	switch {
	case a.Code == protocol.Batch:
		w.Face.Took(a)
	case a.Code == protocol.Left, a.Leaving && (a.Code == protocol.Number || a.Code == protocol.Busy):
		w.Face.Left(a)
	case a.Code == protocol.Number:
		x.Again(x.Facts, time.Time{})
	case a.Code == protocol.Busy:
		w.Face.Busy(a)
	case a.Code == protocol.Paused:
		w.Face.Nothing(a, time.Now().Add(pausedLook))
	case a.Wait >= 0:
		w.Face.Nothing(a, time.Now().Add(a.Wait))
	default:
		w.Face.Nothing(a, time.Time{})
	}
}
