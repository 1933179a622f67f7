package schedule

import "slices"

// Terms are the times of a worker, in each of which it has one id, and what becomes of its
// slots when the id changes, or a handler hangs. A slot that carries something, a batch or a
// turn without an answer, finishes it under the old id, set aside; another one stands in its
// place.
type Terms struct {
	schedule *Schedule
	present  Term // nil between two of them
}

// Term is a time during which the worker has one id. Terms are compared: let it be a
// pointer.
type Term interface {
	// ID returns the id for a slot's turns in this term. Replacement is how many slots stood
	// in its place before.
	ID(replacement int) string
}

// Begin gives every slot to a term. None of them carries anything.
func (w *Terms) Begin(in Term) {
	s := w.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	w.present = in
	s.permits.suspended = false
	for _, t := range s.topics {
		for _, x := range t.slots {
			x.bind(in)
		}
		s.Moves.note(t)
	}
}

// End takes all slots away from the present term.
func (w *Terms) End() {
	s := w.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	w.present = nil
	s.permits.suspended = true
	for _, t := range s.topics {
		for _, x := range t.slots {
			if x.carries() {
				w.setAside(x)
				continue
			}
			s.unqueue(x)
			s.sleepers.set(x, never)
			x.facts.Fence = 0
			s.assign(x, false)
			s.permits.spend(x, 0)
			s.permits.release(x)
			s.set(x, Asleep)
		}
	}
}

// Suspend lets no slot take anything, or goes on again.
func (w *Terms) Suspend(yes bool) {
	s := w.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	s.permits.suspended = yes
	s.serve()
}

// Carrying reports whether a slot still carries something under the id of a term that is
// over, unless its handler ignores its context.
func (w *Terms) Carrying(in Term) bool {
	return w.any(func(x *Slot) bool { return x.term == in && !x.hung && x.topic.slots[x.Index] != x })
}

// Handling reports whether a handler may run that was begun in a term, unless it ignores its
// context.
func (w *Terms) Handling(in Term) bool {
	return w.any(func(x *Slot) bool { return x.term == in && !x.hung && x.state == Working })
}

// any reports whether some slot is like that, also one that another stands in the place of. It
// takes the lock.
func (w *Terms) any(like func(*Slot) bool) bool {
	s := w.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.topics, func(t *Topic) bool {
		return slices.ContainsFunc(t.replaced, like) || slices.ContainsFunc(t.slots, like)
	})
}

// setAside puts another slot in the place of one, which is left when what it carries is
// finished.
func (w *Terms) setAside(x *Slot) (y *Slot) {
	s, t := w.schedule, x.topic
	y = t.newSlot(x.Index, x.replacement+1)
	y.facts.Server = x.facts.Server
	t.slots[x.Index] = y
	t.replaced = append(t.replaced, x)
	s.assign(x, false)
	s.assign(y, false)
	if x.state == Waiting { // with a batch
		s.unqueue(x)
		s.launch(x) // which gives it back
	}
	return y
}

// ReplaceHung leaves a slot to a handler that ignores its context. Another one, which is
// a stranger to Redis, goes on in its place when the lease of this one has ended, just as
// if this worker had died.
func (x *Slot) ReplaceHung() {
	s := x.topic.lock()
	defer s.mu.Unlock()
	assigned := x.assigned
	s.Terms.abandon(x)
	y := s.Terms.setAside(x)
	if assigned {
		s.assign(y, true)
		s.enqueue(y)
	}
}

// MarkHung waits no more for a slot whose handler ignores its context. It is replaced
// with the end of the term.
func (x *Slot) MarkHung() {
	s := x.topic.lock()
	defer s.mu.Unlock()
	s.Terms.abandon(x)
}

// abandon gives back a slot's permits, or a few hung handlers would keep all others
// from starting.
func (w *Terms) abandon(x *Slot) {
	x.hung = true
	w.schedule.permits.release(x)
	w.schedule.serve()
}

// Asked has a holder that this worker is, or was, take its turn at a slot of which it
// carries nothing. A slot must not have two turns under one id at a time: both get the
// same batch, and one would handle it while the other hands it back.
func (t *Topic) Asked(index int, holder string) {
	s := t.lock()
	defer s.mu.Unlock()
	x := t.slot(index)
	if x == nil || s.Terms.present == nil { // between two terms the slots change their ids
		return
	}
	if s.closed || s.stopping && s.active == 0 { // all is left, and writers may be gone
		return
	}
	for _, y := range t.replaced {
		if y.Index == index && y.id == holder {
			return
		}
	}
	if x.id == holder {
		if x.state == Asleep { // also one that is not the worker's any more: its turn leaves
			s.enqueue(x)
		}
	} else if y := s.Terms.former(x, holder); y != nil {
		y.leaving.Store(true)
		t.replaced = append(t.replaced, y)
		s.enqueue(y)
	}
}

// former makes a slot that takes its turns under an earlier id of this worker, and
// returns nil if holder is none that may still be in use. Such an id is that of an
// earlier slot in the same place, or of a term whose session is kept until a handler
// has returned.
func (w *Terms) former(x *Slot, holder string) *Slot {
	for i := range x.replacement {
		if x.term.ID(i) == holder {
			return x.topic.newSlot(x.Index, i)
		}
	}
	for _, t := range w.schedule.topics {
		for _, other := range t.replaced {
			if other.id == holder && other.term.ID(x.replacement) == holder {
				y := x.topic.newSlot(x.Index, x.replacement)
				y.bind(other.term)
				return y
			}
		}
	}
	return nil
}
