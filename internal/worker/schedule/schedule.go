package schedule

import (
	"sync"
	"sync/atomic"
	"time"
)

// Schedule knows every slot's state and hands the ready ones to the takers, round
// robin. A slot that may take messages needs a place under the limit first, so that no
// batch waits in flight for a goroutine.
type Schedule struct {
	limit  int
	topics []*Topic
	now    func() time.Time
	start  func(x *Slot, since time.Time)

	waiters atomic.Int32 // slots that wait for a place

	mu        sync.Mutex
	ready     byServer
	sleepers  ordered[*Slot]
	used      int    // places
	kept      int    // places that are free, and only their topic may take
	given     uint64 // places so far
	hungry    ordered[*Topic]
	dry       ordered[*Topic] // without tokens, while slots wait for them
	active    int             // slots that are not asleep
	own, all  int             // slots that are this worker's, and all of the topics
	moved     []*Topic        // whose slots were gained or left, since Moved was called
	moves     []Move          // since NextMoves was called
	stopping  bool
	dropped   []*Slot // that could not be left
	suspended bool    // no slot may take anything
	closed    bool
	takers    *sync.Cond    // there is something ready, or closed
	settled   *sync.Cond    // active is 0, or closed
	moving    *sync.Cond    // there are moves, or closed
	earlier   chan struct{} // the first sleeper wakes earlier than it did
	done      chan struct{} // closed with the schedule
}

// New returns a schedule of topics, with limit places for all of them. start is called
// with the lock held, for a slot whose batch has waited for its place: it starts to
// handle the batch, which has the place since a time. If that is zero the batch has none,
// and is to be given back. It must not block.
func New(limit int, topics []*Topic, now func() time.Time, start func(x *Slot, since time.Time)) *Schedule {
	s := &Schedule{
		limit: limit, topics: topics, now: now, start: start,
		sleepers: newSleepers(), hungry: newHungry(), dry: newDry(),
		earlier: make(chan struct{}, 1), done: make(chan struct{}),
	}
	s.takers, s.settled, s.moving = sync.NewCond(&s.mu), sync.NewCond(&s.mu), sync.NewCond(&s.mu)
	for _, t := range topics {
		t.schedule = s
		for i := range t.Slots {
			t.slots = append(t.slots, t.newSlotLocked(i, 0))
		}
		s.all += len(t.slots)
		t.unlimit()
		s.allowLocked(t)
	}
	return s
}

// Next waits until there is something ready. It adds up to most slots of one server to
// hands, and none when the schedule is closed.
func (s *Schedule) Next(most int, hands []Hand) []Hand {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.ready.length == 0 && !s.closed {
		s.takers.Wait()
	}
	now := s.now()
	// A write to several servers of a Cluster would wait for the slowest.
	for from := s.ready.next(); from != nil && from.length > 0 && len(hands) < most; {
		x := from.first
		s.unqueueLocked(x)
		x.woken = false
		s.setLocked(x, Turning)
		// One that was to be left, and was assigned anew while it was queued, has
		// no place: it is left, and then waits for one.
		leave := !x.assigned || !x.place || s.suspended || s.gathersLocked(x) || s.yieldsLocked(x, now)
		if x.topic.excess.Load() > 0 && !x.facts.Open {
			leave = true
			s.releaseLocked(x) // at once, or more slots would give theirs up than must
		}
		most := 0
		if x.topic.rated != nil && !x.facts.Open {
			if leave = leave || s.reportsLocked(x); leave {
				s.settleLocked(x, 0)
			}
			most = x.paid
		}
		if x.topic.Together != nil && !x.facts.Open {
			n := 0
			if !leave { // before the turn, so that it takes no more than can be handled at once
				n = x.topic.Together() - 1
			}
			if most > 0 {
				n = min(n, most-1)
			}
			s.lendLocked(x, n)
		}
		hands = append(hands, Hand{Slot: x, Facts: x.facts, Places: 1 + x.borrowed, Most: most, Leave: leave})
	}
	if s.ready.length > 0 {
		s.takers.Signal()
	}
	return hands
}

// Rest lets a slot sleep until at (zero: until it is woken) and gives back its place. One that
// has more to do turns again as soon as it gets a place. It does not gather for that: it had
// gathered before this turn.
func (x *Slot) Rest(f Facts, at time.Time) {
	s := x.topic.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	x.facts = f
	s.settleLocked(x, min(x.paid, f.Taken))
	x.paid = 0 // it is spent
	s.releaseLocked(x)
	s.setLocked(x, Asleep)
	switch {
	case !x.assigned && f.Fence > 0:
		s.readyLocked(x)
	case x.assigned && f.More:
		s.readyLocked(x)
	case x.assigned && x.woken:
		s.gatherLocked(x)
	case x.assigned:
		s.sleepLocked(x, at)
	default: // a turn that was under way when it was let go has taken nothing
		s.dropReplacedLocked(x)
	}
}

// Repeat lets a slot whose turn had no answer sleep until at. It keeps its place
// for a while, for the turn may have taken a batch.
func (x *Slot) Repeat(f Facts, at time.Time) {
	s := x.topic.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	x.facts = f
	s.lendLocked(x, 0)
	if f.Failures > 1 { // it may go on for long, and others could use the place
		s.releaseLocked(x)
	}
	s.setLocked(x, Delayed)
	s.sleepLocked(x, at)
}

// Again queues a slot for another turn: at once, or at a time if that is set.
func (x *Slot) Again(f Facts, at time.Time) {
	s := x.topic.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	x.facts = f
	s.settleLocked(x, min(x.paid, f.Taken))
	x.paid = 0 // it is spent
	if at.IsZero() {
		s.readyLocked(x)
		return
	}
	s.setLocked(x, Delayed)
	s.sleepLocked(x, at)
}

// Left ends the work at a slot. If it has been assigned anew meanwhile, the work begins
// again.
func (x *Slot) Left(f Facts) {
	s := x.topic.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	x.facts = f
	s.settleLocked(x, 0)
	s.releaseLocked(x)
	s.setLocked(x, Asleep)
	switch {
	case x.assigned && f.Few:
		s.gatherLocked(x)
	case x.assigned:
		s.readyLocked(x)
	}
	s.dropReplacedLocked(x)
}

// Work notes that the slot has a batch, and reports whether it is to be handled now, in
// the place that the slot has since a time. If not, because the place was given up while
// a turn had no answer, or because the turn was to leave, the slot goes on with
// AwaitPlace.
func (x *Slot) Work(f Facts) (since time.Time, now bool) {
	s := x.topic.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	x.facts = f
	x.took = f.Taken
	s.settleLocked(x, min(x.paid, f.Taken)) // what the turn asked for before there was a rate is free
	x.hung = false                          // it was for the batch before
	if !x.place {
		if !x.assigned || !s.freeLocked(x.topic) {
			return time.Time{}, false
		}
		s.placeLocked(x)
	}
	s.setLocked(x, Working)
	return x.since, true
}

// AwaitPlace has the slot wait for a place to handle its batch in. One that is to be
// left, or whose topic may have none, gets none, and begins nothing of the batch.
func (x *Slot) AwaitPlace() {
	s := x.topic.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !x.assigned || x.topic.allowed == 0:
		s.launchLocked(x)
	case s.freeLocked(x.topic):
		s.placeLocked(x)
		s.launchLocked(x)
	default:
		s.awaitPlaceLocked(x)
	}
}

// launchLocked starts to handle the slot's batch, or, without a place, to give it back.
func (s *Schedule) launchLocked(x *Slot) {
	since := time.Time{}
	if x.place {
		since = x.since
	}
	s.setLocked(x, Working)
	s.start(x, since)
}

// readyLocked queues a slot, if it needs no place or gets one.
func (s *Schedule) readyLocked(x *Slot) {
	s.sleepLocked(x, time.Time{})
	if x.assigned && !x.place && !x.facts.Open && !x.facts.Held {
		if x.queuesLocked() || !s.freeLocked(x.topic) || !s.payLocked(x) {
			s.awaitPlaceLocked(x)
			s.serveWaitingLocked() // a token may have come between the look that found none and now
			return
		}
		s.placeLocked(x)
	}
	s.setLocked(x, Ready)
	s.ready.push(x)
	s.takers.Signal()
}

// unqueueLocked takes a slot out of the queue it is in, if any.
func (s *Schedule) unqueueLocked(x *Slot) {
	switch {
	case x.in == nil:
	case x.state == Waiting:
		x.in.remove(x)
		s.waiters.Add(-1)
		s.weighLocked(x.topic)
	default:
		s.ready.remove(x)
	}
}

// setLocked changes a slot's state. Every change of state passes here, so that active
// and moved are right.
func (s *Schedule) setLocked(x *Slot, to State) {
	if x.state == Asleep && to != Asleep {
		s.active++
	}
	if x.state != Asleep && to == Asleep {
		if s.active--; s.active == 0 {
			s.settled.Broadcast()
		}
	}
	if !x.assigned && (x.state == Asleep) != (to == Asleep) {
		s.moveLocked(x.topic)
	}
	x.state = to
	s.recordLocked(x)
}

// Busy returns how many slots have something to do and need not wait for a place, and which share of
// all slots is this worker's.
func (s *Schedule) Busy() (slots int, share float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active - int(s.waiters.Load()), float64(s.own) / float64(max(1, s.all))
}

// WaitIdle returns when every slot is asleep, or the schedule is closed.
func (s *Schedule) WaitIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waitIdleLocked()
}

func (s *Schedule) waitIdleLocked() {
	for s.active > 0 && !s.closed {
		s.settled.Wait()
	}
}

// Close ends the takers, and the alarm.
func (s *Schedule) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.done)
	s.takers.Broadcast()
	s.settled.Broadcast()
	s.moving.Broadcast()
}

// Done is closed with the schedule.
func (s *Schedule) Done() <-chan struct{} { return s.done }
