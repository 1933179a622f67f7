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
	ready    byServer   // for the takers
	takers   *sync.Cond // there is something ready, or the schedule is closed
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
	if x.needsPermit() && !s.permits.acquire(x) {
		s.await(x)
		return
	}
	s.push(x)
}

// push gives a slot to the takers.
func (s *states) push(x *Slot) {
	s.set(x, Ready)
	s.ready.push(x)
	s.takers.Signal()
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

// spend notes for how many messages a slot's turn, or its batch, has used what the slot had
// paid, and serves the others with the rest.
func (s *states) spend(x *Slot, n int) {
	if s.rates.settle(x, min(x.paid, n)) {
		s.permits.weigh(x.topic)
		s.serve()
	}
}

// release gives back all that a slot has: its permits, and what it has paid.
func (s *states) release(x *Slot) {
	if s.rates.settle(x, 0) {
		s.permits.weigh(x.topic)
	}
	s.permits.release(x)
	s.serve()
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
