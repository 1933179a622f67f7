package schedule

import (
	"slices"
	"time"
)

// Topic is a topic that the worker listens to, with its slots.
type Topic struct {
	Name  string
	Slots int // how many there are
	Most  int // permits it may have at the same time; see Allow
	Value any // what the worker keeps for the topic

	// NewSlot makes a slot with its Value, as one that stands in the place of another,
	// too. It is called with the lock held, and must not block.
	NewSlot func(index int) *Slot

	// Together is how many messages the next batch has at the most. It is set if they
	// are handled at the same time, each under a permit of its own. It must not block.
	Together func() int

	// Wants is how many messages a turn wants at the least, if the topic has a rate and there
	// are so many tokens; 0: one.
	Wants int

	// Gather is how long a slot that has something to do waits for more first; 0: it does
	// not wait.
	Gather time.Duration

	schedule *Schedule

	slots    []*Slot
	replaced []*Slot  // those that others stand in the place of, until they have finished what they carry
	own      int      // slots that are this worker's
	moved    bool     // it is among the topics of the schedule's moves
	held     []string // by slot, for the moves: the id under which the worker holds it; nil: that is not used
	rated    *rated   // nil: it has no rate
	quota
}

// lock takes the lock of the schedule.
func (t *Topic) lock() *Schedule {
	t.schedule.mu.Lock()
	return t.schedule
}

func (t *Topic) newSlot(index, replacement int) *Slot {
	x := t.NewSlot(index)
	x.topic, x.Index, x.replacement = t, index, replacement
	if in := t.schedule.Terms.present; in != nil {
		x.bind(in)
	}
	return x
}

// slot is the one of an index, or nil if there is none.
func (t *Topic) slot(index int) *Slot {
	if index < 0 || index >= len(t.slots) {
		return nil
	}
	return t.slots[index]
}

// forget ends the waiting for a slot that another one stands in the place of.
func (t *Topic) forget(x *Slot) {
	t.replaced = slices.DeleteFunc(t.replaced, func(other *Slot) bool { return other == x })
}

// Locate notes which server a slot is on, before anything has been asked of it.
func (t *Topic) Locate(index int, server string) {
	s := t.lock()
	defer s.mu.Unlock()
	t.slots[index].facts.Server = server
}

// Wake makes a slot that is asleep ready after a while, at once if that is 0.
func (t *Topic) Wake(index int, in time.Duration) {
	s := t.lock()
	defer s.mu.Unlock()
	x := t.slot(index)
	switch {
	case x == nil || !x.assigned:
	case x.state == Turning:
		x.woken = true // the turn may have looked before the message was there
	case x.state == Asleep && in <= 0:
		s.gather(x)
	case x.state == Asleep && !x.gathers:
		if at := s.now().Add(in); x.at.IsZero() || at.Before(x.at) {
			s.sleepers.set(x, at)
		}
	}
}

// Has reports whether a slot is this worker's.
func (t *Topic) Has(index int) bool {
	s := t.lock()
	defer s.mu.Unlock()
	return t.slot(index) != nil && t.slots[index].assigned
}

// Standing returns what stands in the place of a slot: it, and those set aside that have not
// finished what they carry.
func (t *Topic) Standing(index int) (slots []*Slot) {
	s := t.lock()
	defer s.mu.Unlock()
	now := t.slot(index)
	if now == nil {
		return nil
	}
	for _, x := range t.replaced {
		if x.Index == index {
			slots = append(slots, x)
		}
	}
	return append(slots, now)
}

// Working returns the slots of a topic of which a batch is being handled, also those that others stand in the
// place of.
func (t *Topic) Working() (slots []*Slot) {
	s := t.lock()
	defer s.mu.Unlock()
	for _, x := range slices.Concat(t.replaced, t.slots) {
		if x.state == Working {
			slots = append(slots, x)
		}
	}
	return slots
}

// Holding returns the slots of a topic that are this worker's, or that it has not left.
func (t *Topic) Holding() (indexes []int) {
	s := t.lock()
	defer s.mu.Unlock()
	for _, x := range t.slots {
		if x.assigned || x.state != Asleep {
			indexes = append(indexes, x.Index)
		}
	}
	return indexes
}

// Status is what a slot does at the moment.
type Status struct {
	Slot     *Slot
	State    State
	Assigned bool // to this worker
	SetAside bool // it finishes what it carries; another slot stands in its place
	Hung     bool // its handler ignores its context
	Unseen   bool // it is new to this worker, and was not looked at yet
	Permits  int
	Until    time.Time // when it wakes by itself; zero: never
}

// Status returns what the slots of a topic do, first of those that were set aside.
func (t *Topic) Status() []Status {
	s := t.lock()
	defer s.mu.Unlock()
	all := make([]Status, 0, len(t.replaced)+len(t.slots))
	for _, x := range slices.Concat(t.replaced, t.slots) {
		all = append(all, Status{x, x.state, x.assigned, t.slots[x.Index] != x, x.hung, x.unseen, x.permit.count(), x.at})
	}
	return all
}
