package schedule

import (
	"slices"
	"time"
)

// What becomes of the slots when this worker gets another id, or a handler hangs. A slot
// that carries something, a batch or a turn without an answer, finishes it under the old
// id, set aside; another one stands in its place.

// Begin gives every slot to a term. None of them carries anything.
func (s *Schedule) Begin(in Term) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspended = false
	for _, t := range s.topics {
		t.term = in
		for _, x := range t.slots {
			x.serveLocked(in)
		}
		s.moveLocked(t)
	}
}

// EndTerm takes all slots away from the present term.
func (s *Schedule) EndTerm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspended = true
	for _, t := range s.topics {
		t.term = nil
		for _, x := range t.slots {
			if x.carriesLocked() {
				s.setAsideLocked(x)
				continue
			}
			s.unqueueLocked(x)
			s.sleepLocked(x, time.Time{})
			x.facts.Fence = 0
			s.markLocked(x, false)
			s.settleLocked(x, 0)
			s.releaseLocked(x)
			s.setLocked(x, Asleep)
		}
	}
}

// setAsideLocked puts another slot in the place of one, which is left when what it
// carries is finished.
func (s *Schedule) setAsideLocked(x *Slot) (y *Slot) {
	t := x.topic
	y = t.newSlotLocked(x.Index, x.replacement+1)
	y.facts.Server = x.facts.Server
	t.slots[x.Index] = y
	t.replaced = append(t.replaced, x)
	s.markLocked(x, false)
	s.markLocked(y, false)
	if x.state == Waiting { // with a batch
		s.unqueueLocked(x)
		s.launchLocked(x) // which gives it back
	}
	return y
}

// ReplaceHung leaves a slot to a handler that ignores its context. Another one, which is
// a stranger to Redis, goes on in its place when the lease of this one has ended, just as
// if this worker had died.
func (x *Slot) ReplaceHung() {
	s := x.topic.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	assigned := x.assigned
	s.markHungLocked(x)
	y := s.setAsideLocked(x)
	if assigned {
		s.markLocked(y, true)
		s.readyLocked(y)
	}
}

// MarkHung waits no more for a slot whose handler ignores its context. It is replaced
// with the end of the term.
func (x *Slot) MarkHung() {
	s := x.topic.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	s.markHungLocked(x)
}

// markHungLocked gives back a slot's places, or a few hung handlers would keep all others
// from starting.
func (s *Schedule) markHungLocked(x *Slot) {
	x.hung = true
	s.releaseLocked(x)
}

// Carrying reports whether a slot still carries something under the id of a term that is
// over, unless its handler ignores its context.
func (s *Schedule) Carrying(in Term) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.topics {
		for _, x := range t.replaced {
			if x.term == in && !x.hung {
				return true
			}
		}
	}
	return false
}

// Handling reports whether a handler may run that was begun in a term, unless it ignores its
// context.
func (s *Schedule) Handling(in Term) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.topics {
		for _, slots := range [][]*Slot{t.replaced, t.slots} {
			for _, x := range slots {
				if x.term == in && x.state == Working && !x.hung {
					return true
				}
			}
		}
	}
	return false
}

// dropReplacedLocked ends the waiting for a slot that another one stands in the place of.
func (s *Schedule) dropReplacedLocked(x *Slot) {
	x.topic.replaced = slices.DeleteFunc(x.topic.replaced, func(other *Slot) bool { return other == x })
}

// Asked has a holder that this worker is, or was, take its turn at a slot of which it
// carries nothing. A slot must not have two turns under one id at a time: both get the
// same batch, and one would handle it while the other hands it back.
func (t *Topic) Asked(index int, holder string) {
	s := t.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.hasLocked(index) || t.term == nil { // between two terms the slots change their ids
		return
	}
	if s.closed || s.stopping && s.active == 0 { // all is left, and takers may be gone
		return
	}
	for _, y := range t.replaced {
		if y.Index == index && y.id == holder {
			return
		}
	}
	if x := t.slots[index]; x.id == holder {
		if x.state == Asleep { // also one that is not the worker's any more: its turn leaves
			s.readyLocked(x)
		}
	} else if y := s.formerLocked(x, holder); y != nil {
		y.leaving.Store(true)
		t.replaced = append(t.replaced, y)
		s.readyLocked(y)
	}
}

// formerLocked makes a slot that takes its turns under an earlier id of this worker, and
// returns nil if holder is none that may still be in use. Such an id is that of an
// earlier slot in the same place, or of a term whose session is kept until a handler
// has returned.
func (s *Schedule) formerLocked(x *Slot, holder string) *Slot {
	for i := range x.replacement {
		if x.term.ID(i) == holder {
			return x.topic.newSlotLocked(x.Index, i)
		}
	}
	for _, t := range s.topics {
		for _, other := range t.replaced {
			if other.id == holder && other.term.ID(x.replacement) == holder {
				y := x.topic.newSlotLocked(x.Index, x.replacement)
				y.serveLocked(other.term)
				return y
			}
		}
	}
	return nil
}
