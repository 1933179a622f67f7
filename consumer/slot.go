package consumer

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/luascripts"
)

// state of a slot in this worker.
type state uint8

const (
	idle    state = iota // nothing to do before `at`, if that is set, or a wake-up
	pausing              // its next turn, or a repetition of the last, is due at `at`
	waiting              // ready for a turn, but for a place
	ready                // in the queue of the turners
	turning              // in the hands of a turner
	working              // its batch is being handled
)

// slot is one slot of a topic as this worker sees it. Only one goroutine at a
// time has it in hand: a turner, the one that handles its batch, or, while it
// waits, the schedule.
type slot struct {
	topic       *topic
	index       int
	incarnation int // how many there were before this one

	// Whose turns it takes. They change only while it carries nothing.
	term   *term
	worker string // the term's id; see serve

	// Guarded by schedule.mu.
	state    state
	owned    bool      // this worker shall work at it
	place    bool      // it has a place under the concurrency limit
	borrowed int       // places its batch has beside that
	since    time.Time // when it got the place
	woken    bool      // a wake-up came while it was turning
	gained   bool      // it is new to this worker, and was not looked at yet
	at       time.Time // when it wakes by itself; zero: never
	inHeap   int       // index in the heap of sleepers; -1: not in it
	link               // in the queue of those that are ready, or wait for a place
	forsaken bool      // its handler ignores its context
	denied   bool      // its batch has no place, and is given back

	leaving atomic.Bool // as !owned, for the batch to see

	node string // that answered its last turn; in hand, and in the queue guarded by schedule.mu

	// In hand.
	turn     luascripts.Turn // the last one asked
	open     bool            // it has no definite answer yet: it must be repeated unchanged
	sent     time.Time       // when it was last sent
	failures int             // times in a row that it had no answer
	number   int64           // of the slot, as last told; 0: unknown
	held     bool            // there is a batch, or the turn finishes one
	batch    *batch          // that is handled, or waits for its place
	verdicts []luascripts.Verdict
	patience time.Duration // before another look at a slot that is busy
	holder   string        // of the slot, while it is busy
	busy     time.Time     // since when that one holds it
	asked    time.Time     // when that one was asked last
	refused  bool          // it is paused, or another's, as last told
	minder   minder
	results  []result
}

// ask prepares the next turn, unless the last one has no answer yet.
func (s *slot) ask(c *Consumer, leave bool) {
	if s.open {
		return
	}
	count := 0
	if !leave {
		count = s.topic.size.count(1 + s.borrowed)
	}
	s.turn.Worker, s.turn.Lease, s.turn.TakeoverDelay, s.turn.DeadHolder = s.worker, c.cfg.Lease, s.topic.crash.delay(), ""
	if s.topic.Literal {
		s.turn.TakeoverDelay = 0
	}
	if m := s.term.member; m != nil { // the session takes the lease's place
		s.turn.Lease = 0
		if m.Dead(s.holder) {
			s.turn.DeadHolder = s.holder
		}
	}
	s.turn.Number, s.turn.Count, s.turn.Random, s.turn.Verdicts = s.number, count, rand.IntN(1<<30), s.verdicts
	s.turn.HoldsNothing = !s.held
	s.open = true
}

// answered notes that the turn has a definite answer.
func (s *slot) answered() {
	s.open, s.failures, s.held = false, 0, false
	clear(s.verdicts)
	s.turn.Verdicts, s.verdicts = nil, s.verdicts[:0]
}

// empty lets go of what the slot had in hand, which may be large, when it has nothing
// to do for a while.
func (s *slot) empty() { s.results, s.verdicts = nil, nil }
