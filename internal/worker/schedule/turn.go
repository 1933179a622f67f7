package schedule

import "time"

// What whoever has a slot in hand does with it: a taker, or the one that handles its batch.
// Each of these methods but those about permits gives the slot back.

// Rest lets a slot sleep until at (zero: until it is woken) and gives back its permit. One that
// has more to do turns again as soon as it gets a permit. It does not gather for that: it had
// gathered before this turn.
func (x *Slot) Rest(f Facts, at time.Time) {
	s := x.topic.lock()
	defer s.mu.Unlock()
	x.facts = f
	s.spend(x, f.Taken)
	x.paid = 0
	s.release(x)
	s.set(x, Asleep)
	switch {
	case !x.assigned && f.Fence > 0:
		s.enqueue(x)
	case x.assigned && f.More:
		s.enqueue(x)
	case x.assigned && x.woken:
		s.gather(x)
	case x.assigned:
		s.sleepers.set(x, at)
	default: // a turn that was under way when it was let go has taken nothing
		x.topic.forget(x)
	}
}

// Repeat lets a slot whose turn had no answer sleep until at. It keeps its permit
// for a while, for the turn may have taken a batch.
func (x *Slot) Repeat(f Facts, at time.Time) {
	s := x.topic.lock()
	defer s.mu.Unlock()
	x.facts = f
	s.permits.lend(x, 0)
	if f.Failures > 1 { // it may go on for long, and others could use the permit
		s.permits.release(x)
	}
	s.serve()
	s.delay(x, at)
}

// Again queues a slot for another turn: at once, or at a time if that is set.
func (x *Slot) Again(f Facts, at time.Time) {
	s := x.topic.lock()
	defer s.mu.Unlock()
	x.facts = f
	s.spend(x, f.Taken)
	x.paid = 0
	if at.IsZero() {
		s.enqueue(x)
		return
	}
	s.delay(x, at)
}

// Left ends the work at a slot. If it has been assigned anew meanwhile, the work begins
// again.
func (x *Slot) Left(f Facts) {
	s := x.topic.lock()
	defer s.mu.Unlock()
	x.facts = f
	s.release(x)
	s.set(x, Asleep)
	switch {
	case x.assigned && f.Few:
		s.gather(x)
	case x.assigned:
		s.enqueue(x)
	}
	x.topic.forget(x)
}

// Work notes that the slot has a batch, and reports whether it is to be handled now, under
// the permit that the slot has since a time. If not, because the permit was given up while
// a turn had no answer, or because the turn was to leave, the slot goes on with
// AwaitPermit.
func (x *Slot) Work(f Facts) (since time.Time, now bool) {
	s := x.topic.lock()
	defer s.mu.Unlock()
	x.facts = f
	x.took = f.Taken
	s.spend(x, f.Taken) // what the turn asked for before there was a rate is free
	x.hung = false      // it was for the batch before
	if !x.permit.held {
		if !x.assigned || !s.permits.free(x.topic) {
			return time.Time{}, false
		}
		s.permits.give(x)
	}
	s.set(x, Working)
	return x.permit.since, true
}

// AwaitPermit has the slot wait for a permit to handle its batch under. One that is to be
// left, or whose topic may have none, gets none, and begins nothing of the batch.
func (x *Slot) AwaitPermit() {
	s := x.topic.lock()
	defer s.mu.Unlock()
	switch {
	case !x.assigned || x.topic.allowed == 0:
		s.launch(x)
	case s.permits.free(x.topic):
		s.permits.give(x)
		s.launch(x)
	default:
		s.await(x)
	}
}

// Drop gives up a slot that is to be left and cannot be, because no turn will ever have
// an answer. It reports whether it did: only after Stop.
func (x *Slot) Drop() bool {
	s := x.topic.lock()
	defer s.mu.Unlock()
	if !s.stopping {
		return false
	}
	s.dropped = append(s.dropped, x)
	x.facts.Fence = 0 // nothing will leave it
	s.release(x)
	s.set(x, Asleep)
	x.topic.forget(x)
	return true
}

// GiveUp gives a permit of a slot's batch back if its topic has more than it may have, and
// reports whether it did: then no other message of the batch may begin. A borrowed permit is left
// to ReturnOne.
func (x *Slot) GiveUp() bool {
	s := x.topic.schedule
	if x.topic.excess.Load() == 0 { // nearly always
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.topic.excess.Load() == 0 {
		return false
	}
	if x.permit.borrowed == 0 {
		s.permits.release(x)
		s.serve()
	}
	return true
}

// Wanted reports whether another could use the permit of a slot. The caller knows that
// the slot has had it for a slice.
func (x *Slot) Wanted() bool {
	s := x.topic.schedule
	if s.permits.waiters.Load() == 0 { // nearly always
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.permits.wanted(x)
}

// Borrow gives a slot n permits beside its own, or as many as there are, and returns how
// many it has then.
func (x *Slot) Borrow(n int) int {
	s := x.topic.lock()
	defer s.mu.Unlock()
	s.permits.lend(x, n)
	s.serve()
	return x.permit.borrowed
}

// ReturnOne gives one borrowed permit back, if there is one.
func (x *Slot) ReturnOne() {
	s := x.topic.lock()
	defer s.mu.Unlock()
	s.permits.lend(x, x.permit.borrowed-1)
	s.serve()
}
