package consumer

import (
	"container/heap"
	"slices"
	"time"
)

// Succession: what becomes of the slots when this worker gets another id. A slot
// that carries something, a batch or a turn without an answer, finishes it under
// the old id, aside; another incarnation of it goes on in its place.

// begin gives every slot to a term. None of them carries anything.
func (s *schedule) begin(t *term) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspended = false
	for _, topic := range s.topics {
		topic.term = t
		for _, x := range topic.slots {
			x.serve(t)
		}
	}
}

// dismiss ends the present term.
func (s *schedule) dismiss() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspended = true
	for _, t := range s.topics {
		t.term = nil
		for _, x := range t.slots {
			if x.carries() {
				s.replace(x)
				continue
			}
			s.unqueue(x)
			if x.inHeap >= 0 {
				heap.Remove(&s.sleepers, x.inHeap)
			}
			x.at, x.number, x.owned = time.Time{}, 0, false
			x.leaving.Store(true)
			s.release(x)
			s.set(x, idle)
		}
	}
}

// carries reports whether the slot has a batch, or may have one. The caller holds
// schedule.mu.
func (s *slot) carries() bool {
	return s.state == turning || s.state == working || s.open || s.held
}

// replace puts another incarnation in the place of a slot, which is left when
// what it carries is finished.
func (s *schedule) replace(x *slot) (y *slot) {
	t := x.topic
	y = t.newSlot(x.index, x.incarnation+1)
	if x.state != turning { // else a turner may be noting it
		y.node = x.node
	}
	t.slots[x.index] = y
	t.replaced = append(t.replaced, x)
	x.owned = false
	x.leaving.Store(true)
	y.leaving.Store(true)
	if x.state == waiting { // with a batch
		s.unqueue(x)
		s.launch(x) // which gives it back
	}
	return y
}

// desert leaves a slot to a handler that ignores its context. Another
// incarnation, who is nobody to Redis, goes on with the slot when the lease of
// this one has ended, just as if this worker had died.
func (s *schedule) desert(x *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owned := x.owned
	s.forsake(x)
	y := s.replace(x)
	if owned {
		y.owned = true
		y.leaving.Store(false)
		s.ready(y)
	}
}

// giveUp waits for a slot no more. It is replaced with the end of the term.
func (s *schedule) giveUp(x *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forsake(x)
}

// forsake gives up a slot's places, or a few hung handlers would keep all others
// from starting.
func (s *schedule) forsake(x *slot) {
	x.forsaken = true
	s.release(x)
}

// awaited reports whether a slot still carries something under the id of a term,
// unless its handler ignores its context.
func (s *schedule) awaited(t *term) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, topic := range s.topics {
		for _, x := range topic.replaced {
			if x.term == t && !x.forsaken {
				return true
			}
		}
	}
	return false
}

// suspend lets no slot take anything, or goes on again.
func (s *schedule) suspend(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspended = yes
	if !yes {
		s.serveWaiting()
	}
}

// holding returns the slots of a topic that this worker works at or has not left.
func (s *schedule) holding(t *topic) (indexes []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range t.slots {
		if x.owned || x.state != idle {
			indexes = append(indexes, x.index)
		}
	}
	return indexes
}

// busyWith returns the topics of which a slot is busy with a holder.
func (s *schedule) busyWith(holder string) (topics []*topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.topics {
		if slices.ContainsFunc(t.slots, func(x *slot) bool { return x.owned && x.state == idle && x.holder == holder }) {
			topics = append(topics, t)
		}
	}
	return topics
}

// wakeBusy makes the slots ready that are busy with a holder.
func (s *schedule) wakeBusy(holder string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.topics {
		for _, x := range t.slots {
			if x.owned && x.state == idle && x.holder == holder {
				s.ready(x)
				n++
			}
		}
	}
	return n
}
