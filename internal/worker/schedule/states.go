package schedule

import (
	"sync"
	"time"
)

// states has the slots go from state to state. What is given back, a permit or tokens, is of use
// to slots that wait: who gives back calls serve, before it does anything else for its own slot.
type states struct {
	permits  permits
	rates    rates
	sleepers sleepers
	ready    byServer   // for the writers
	writers  *sync.Cond // there is something ready, or the schedule is closed
	active   int        // slots that are not asleep
	idle     *sync.Cond // active is 0, or the schedule is closed
	moves    *Moves
	start    func(x *Slot, since time.Time) // see New
	now      func() time.Time
}

// set changes a slot's state. Every change of state passes here, so that active and the
// moves are right.
func (s *states) set(x *Slot, to State) {
	if x.state == Asleep && to != Asleep {
		s.active++
	}
	if x.state != Asleep && to == Asleep {
		if s.active--; s.active == 0 {
			s.idle.Broadcast()
		}
	}
	if !x.assigned && (x.state == Asleep) != (to == Asleep) {
		s.moves.note(x.topic)
	}
	x.state = to
	s.moves.record(x)
}

// delay has a slot wait for its next turn until at.
func (s *states) delay(x *Slot, at time.Time) {
	s.set(x, Delayed)
	s.sleepers.set(x, at)
}

// gather makes a slot that sleeps ready, when it has gathered if its topic does that. One
// that is paused or another worker's only looks whether it still is.
//
// A topic may gather: its slots wait for more messages before they take any. A slot that
// has something to do sleeps for Topic.Gather first. It does so after a batch, too, unless
// more is known to wait: it leaves the slot, which reports the batch, and sleeps. So it
// holds nothing while it gathers, neither a permit nor messages. Wake-ups that come
// meanwhile do not make it longer.
func (s *states) gather(x *Slot) {
	switch {
	case x.gathers:
	case x.topic.Gather <= 0 || x.facts.Unavailable:
		s.enqueue(x)
	default:
		s.sleepers.set(x, s.now().Add(x.topic.Gather))
		x.gathers = true
	}
}

// gathersNext reports whether a slot that finishes a batch is to gather before the next.
func gathersNext(x *Slot) bool { return x.topic.Gather > 0 && x.facts.Held && x.facts.Few }

// enqueue makes a slot ready, if it needs no permit or gets one.
func (s *states) enqueue(x *Slot) {
	s.sleepers.set(x, never)
	if needsPermit(x) && !s.permits.acquire(x) {
		s.await(x)
		return
	}
	s.push(x)
}

// needsPermit reports whether the slot's next turn may take something, which it needs a permit
// for and does not have.
func needsPermit(x *Slot) bool {
	return x.assigned && !x.permit.held && !x.facts.Open && !x.facts.Held
}

// push gives a slot to the writers.
func (s *states) push(x *Slot) {
	s.set(x, Ready)
	s.ready.push(x)
	s.writers.Signal()
}

// await lets a slot wait for a permit.
func (s *states) await(x *Slot) {
	s.set(x, Waiting)
	s.permits.await(x)
	s.serve() // a token may have come between the look that found none and now
}

// serve gives free permits to slots that wait for one.
func (s *states) serve() {
	for x := s.permits.next(); x != nil; x = s.permits.next() {
		if x.facts.Held {
			s.launch(x)
		} else {
			s.push(x)
		}
	}
}

// launch starts to handle the slot's batch, or, without a permit, to give it back.
func (s *states) launch(x *Slot) {
	since := time.Time{}
	if x.permit.held {
		since = x.permit.since
	}
	s.set(x, Working)
	s.start(x, since)
}

// unqueue takes a slot out of the queue it is in, if any.
func (s *states) unqueue(x *Slot) {
	switch {
	case x.in == nil:
	case x.state == Waiting:
		s.permits.awaitNoMore(x)
	default:
		s.ready.remove(x)
	}
}

// wake makes the slots ready whose time has come, and serves those whose topics have tokens by
// now. It returns how long it is until the next one's time.
func (s *states) wake(now time.Time) time.Duration {
	for t, in := s.rates.next(now); ; t, in = s.rates.next(now) {
		if t == nil {
			return min(in, s.wakeSleepers(now))
		}
		s.permits.weigh(t)
		s.serve()
	}
}

func (s *states) wakeSleepers(now time.Time) time.Duration {
	for len(s.sleepers.all) > 0 {
		first := s.sleepers.all[0]
		if until := first.at.Sub(now); until > 0 {
			return until
		}
		if first.state == Asleep && !first.gathers {
			s.gather(first)
		} else {
			s.enqueue(first)
		}
	}
	return time.Hour
}

// The rest is what whoever has a slot in hand does with it: a writer, or the one that handles its
// batch. Each of these methods gives the slot back, but for Work where it reports true, and for those
// that are about permits alone.

// Rest lets a slot sleep until at (zero: until it is woken) and gives back its permit. One that
// has more to do turns again as soon as it gets a permit. It does not gather for that: it had
// gathered before this turn.
func (x *Slot) Rest(f Facts, at time.Time) {
	s := x.topic.lock()
	defer s.mu.Unlock()
	x.facts = f
	s.permits.spend(x, f.Taken)
	x.paid = 0
	s.permits.release(x)
	s.serve()
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
	if s.permits.spend(x, f.Taken) {
		s.serve()
	}
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
	s.permits.spend(x, 0)
	s.permits.release(x)
	s.serve()
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
	if s.permits.spend(x, f.Taken) { // what the turn asked for before there was a rate is free
		s.serve()
	}
	x.hung = false // it was for the batch before
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
	s.permits.spend(x, 0)
	s.permits.release(x)
	s.serve()
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
	return s.permits.ahead(x) > 0 || x.topic.waiting.length > 0
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
