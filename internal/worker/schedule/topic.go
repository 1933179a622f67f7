package schedule

import (
	"sync/atomic"
	"time"
)

// Topic is a topic that the worker listens to, with its slots.
type Topic struct {
	Name  string
	Slots int // how many there are
	Most  int // places it may have at the same time; see Allow
	Value any // what the worker keeps for the topic

	// NewSlot makes a slot with its Value, as one that stands in the place of another,
	// too. It is called with the lock held, and must not block.
	NewSlot func(index int) *Slot

	// Together is how many messages the next batch has at the most. It is set if they
	// are handled at the same time, each in a place of its own. It must not block.
	Together func() int

	// Wants is how many messages a turn wants at the least, if the topic has a rate and there
	// are so many tokens; 0: one.
	Wants int

	// Gather is how long a slot that has something to do waits for more first; 0: it does
	// not wait.
	Gather time.Duration

	schedule *Schedule
	excess   atomic.Int32 // places it has and may not have any more; changed with the schedule's lock

	// Guarded by the schedule's lock.
	slots    []*Slot
	replaced []*Slot // those that others stand in the place of, until they have finished what they carry
	term     Term    // of the worker; nil between two of them
	used     int     // places taken
	reserve  int     // places that no other topic may take
	limits   [limiters]int
	allowed  int      // places it may have: the smallest of Most and the limits
	own      int      // slots that are this worker's
	rated    *rated   // nil: it has no rate
	given    uint64   // the last place it was given, of those of the schedule
	waiting  queue    // slots that are ready, or have a batch, but for a place
	rank     int      // in the heap of hungry topics
	moved    bool     // it is among the schedule's moved ones
	held     []string // by slot, for NextMoves: the id under which the worker holds it; nil: that is not used
}

func (t *Topic) newSlotLocked(index, replacement int) *Slot {
	x := t.NewSlot(index)
	x.topic, x.Index, x.replacement = t, index, replacement
	if t.term != nil {
		x.serveLocked(t.term)
	}
	return x
}

// hasLocked reports whether there is a slot of an index.
func (t *Topic) hasLocked(index int) bool { return index >= 0 && index < len(t.slots) }
