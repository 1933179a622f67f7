package schedule

import "time"

// Assign sets which slots of a topic this worker is to work at in a term. Those that are
// gained are to be looked at.
func (t *Topic) Assign(in Term, indexes []int) (gained, lost int) {
	s := t.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.term != in {
		return 0, 0 // it is over
	}
	mine := make([]bool, len(t.slots))
	for _, i := range indexes {
		mine[i] = !s.stopping
	}
	for i, x := range t.slots {
		switch {
		case mine[i] && !x.assigned:
			gained++
			s.markLocked(x, true)
			x.unseen = x.state == Asleep // otherwise whatever has it in hand goes on with it
		case !mine[i] && x.assigned:
			lost++
			s.unassignLocked(x)
		}
	}
	return gained, lost
}

// unassignLocked takes a slot away. If it was ever turned at, it must be left by a turn.
func (s *Schedule) unassignLocked(x *Slot) {
	s.markLocked(x, false)
	switch x.state {
	case Waiting:
		s.unqueueLocked(x)
		if x.facts.Held {
			s.launchLocked(x) // which gives the batch back
			return
		}
		s.setLocked(x, Asleep)
		fallthrough
	case Asleep:
		if x.facts.Fence > 0 {
			s.readyLocked(x)
		} else {
			s.sleepLocked(x, time.Time{})
		}
	}
}

// markLocked notes whether a slot is assigned to this worker.
func (s *Schedule) markLocked(x *Slot, assigned bool) {
	if x.assigned != assigned {
		n := -1
		if assigned {
			n = 1
		}
		x.topic.own += n
		s.own += n
		s.partLocked(x.topic)
	}
	x.assigned = assigned
	x.leaving.Store(!assigned)
	s.moveLocked(x.topic)
	s.recordLocked(x)
}

// moveLocked notes that what Holding says of a topic may have changed.
func (s *Schedule) moveLocked(t *Topic) {
	if !t.moved {
		t.moved = true
		s.moved = append(s.moved, t)
	}
}

// Stop takes every slot away, and lets none be assigned any more.
func (s *Schedule) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	for _, t := range s.topics {
		for _, x := range t.slots {
			if x.assigned {
				s.unassignLocked(x)
			}
		}
	}
}

// Drop gives up a slot that is to be left and cannot be, because no turn will ever have
// an answer. It reports whether it did: only after Stop.
func (x *Slot) Drop() bool {
	s := x.topic.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping {
		return false
	}
	s.dropped = append(s.dropped, x)
	x.facts.Fence = 0 // nothing will leave it
	s.settleLocked(x, 0)
	s.releaseLocked(x)
	s.setLocked(x, Asleep)
	s.dropReplacedLocked(x)
	return true
}

// Dropped returns the slots that were given up.
func (s *Schedule) Dropped() []*Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Assigned returns the slots of some topics that are this worker's.
func (s *Schedule) Assigned(topics ...*Topic) (slots []*Slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range topics {
		for _, x := range t.slots {
			if x.assigned {
				slots = append(slots, x)
			}
		}
	}
	return slots
}

// Has reports whether a slot is this worker's.
func (t *Topic) Has(index int) bool {
	s := t.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.hasLocked(index) && t.slots[index].assigned
}

// Standing returns what stands in the place of a slot: it, and those set aside that have not
// finished what they carry.
func (t *Topic) Standing(index int) (slots []*Slot) {
	s := t.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.hasLocked(index) {
		return nil
	}
	for _, x := range t.replaced {
		if x.Index == index {
			slots = append(slots, x)
		}
	}
	return append(slots, t.slots[index])
}

// Working returns the slots of a topic of which a batch is being handled, also those that others stand in the
// place of.
func (t *Topic) Working() (slots []*Slot) {
	s := t.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, some := range [][]*Slot{t.replaced, t.slots} {
		for _, x := range some {
			if x.state == Working {
				slots = append(slots, x)
			}
		}
	}
	return slots
}

// Holding returns the slots of a topic that are this worker's, or that it has not left.
func (t *Topic) Holding() (indexes []int) {
	s := t.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range t.slots {
		if x.assigned || x.state != Asleep {
			indexes = append(indexes, x.Index)
		}
	}
	return indexes
}

// Moved returns the topics of which Holding may say something else than when Moved was
// called before, and all of them in a new term.
func (s *Schedule) Moved() (topics []*Topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	topics, s.moved = s.moved, nil
	for _, t := range topics {
		t.moved = false
	}
	return topics
}

// Locate notes which server a slot is on, before anything has been asked of it.
func (t *Topic) Locate(index int, server string) {
	s := t.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	t.slots[index].facts.Server = server
}
