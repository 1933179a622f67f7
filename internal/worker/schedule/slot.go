package schedule

import (
	"sync/atomic"
	"time"
)

// State of a slot in this worker.
type State uint8

const (
	Asleep  State = iota // nothing to do before `at`, if that is set, or a wake-up
	Delayed              // its next turn, or a repetition of the last, is due at `at`
	Waiting              // for a permit: for a turn that may take something, or for the batch it has
	Ready                // in the queue of the writers
	Turning              // in the hands of a writer
	Working              // its batch is being handled
)

// Slot is one slot of a topic in this worker.
type Slot struct {
	Index int // within its topic; set by the schedule, and not changed
	Value any // what the worker keeps for the slot; set by Topic.NewSlot, and not changed

	topic       *Topic
	replacement int         // how many slots stood in its place before
	leaving     atomic.Bool // as !assigned, for the batch to see

	// Whose turns it takes. They change only while it carries nothing.
	term Term
	id   string

	state    State
	facts    Facts     // as they were when the slot was last given back
	assigned bool      // this worker is to work at it
	permit   permit    // to run handlers
	paid     int       // messages it has paid for: see rate.go
	took     int       // messages its last batch had
	woken    bool      // a wake-up came while it was turning
	unseen   bool      // it is new to this worker, and was not looked at yet
	at       time.Time // when it wakes by itself; zero: never
	gathers  bool      // it sleeps until `at` because more messages may come: see Topic.Gather
	rank     int       // among the sleepers
	link               // in the queue of those that are ready, or wait for a permit
	hung     bool      // its handler ignores its context
}

// Facts are what the slot's turns have shown, as far as the schedule goes by it. They
// belong to the goroutine that has the slot in hand. Next hands them out, and the methods that give
// the slot back take a copy.
type Facts struct {
	Fence       int64  // of the slot, as the last answer had it; 0: unknown, and there is nothing to leave
	Open        bool   // the last turn has no definite answer: it must be repeated unchanged
	Held        bool   // it has a batch: being handled, waiting for its permit, or to be reported by the next turn
	Few         bool   // its batch was all there was, as far as is known
	Failures    int    // times in a row that the turn had no answer
	Holder      string // of the slot, while it is busy with another worker
	Unavailable bool   // it is paused, or another worker's
	More        bool   // its last turn took nothing, though something is due: the next one may
	Server      string // that answered its last turn
	Taken       int    // messages of its batch; once it is handled, those that were begun
}

// Topic is the one of which it is a slot.
func (x *Slot) Topic() *Topic { return x.topic }

// Term is the one in which the slot takes its turns. It and ID are for the
// goroutine that has the slot in hand.
func (x *Slot) Term() Term { return x.term }

// ID is what the slot takes its turns under.
func (x *Slot) ID() string { return x.id }

// Leaving reports whether the slot is to be left: what has not begun does not begin.
func (x *Slot) Leaving() bool { return x.leaving.Load() }

// bind binds the slot to a term, and so to an id of the worker.
func (x *Slot) bind(in Term) { x.term, x.id = in, in.ID(x.replacement) }

// carries reports whether the slot has a batch, or may have one.
func (x *Slot) carries() bool {
	return x.state == Turning || x.state == Working || x.facts.Open || x.facts.Held
}

// Hand is a slot as a writer gets it.
type Hand struct {
	Slot    *Slot
	Facts   Facts
	Permits int  // that its batch has
	Most    int  // messages its turn may take, by the rate of the topic; 0: any number
	Leave   bool // its turn is to leave the slot, and to take nothing
}

// beside is how many permits its turn is to have beside the one of the slot, if its batch is to be
// handled in parallel.
func (h *Hand) beside() int {
	switch n := h.Slot.topic.Together; {
	case h.Leave:
		return 0
	case h.Most > 0:
		return min(n(), h.Most) - 1
	default:
		return n() - 1
	}
}
