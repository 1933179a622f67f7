package schedule

import (
	"sync"
	"time"
)

// Schedule knows every slot's state and hands the ready ones to the writers, round
// robin. A slot that may take messages needs a permit first, so that no batch waits in
// flight for a goroutine.
type Schedule struct {
	Terms Terms // of this worker, and what is handed over from one to the next
	Moves Moves // of slots, to this worker and away

	mu       sync.Mutex // guards all of it: see "One lock" in the page of the package
	topics   []*Topic
	own, all int     // slots that are this worker's, and all of the topics
	dropped  []*Slot // that could not be left
	stopping bool
	closed   bool
	done     chan struct{} // closed with the schedule
	states
}

// New returns a schedule of topics, with limit permits for all of them. start is called
// with the lock held, for a slot whose batch has waited for its permit: it starts to
// handle the batch, which has the permit since a time. If that is zero the batch has none,
// and is to be given back. It must not block.
func New(limit int, topics []*Topic, now func() time.Time, start func(x *Slot, since time.Time)) *Schedule {
	s := &Schedule{topics: topics, done: make(chan struct{})}
	s.Terms = Terms{schedule: s}
	s.Moves = Moves{schedule: s, recorded: sync.NewCond(&s.mu)}
	s.states = states{
		now: now, start: start, moves: &s.Moves, sleepers: newSleepers(),
		writers: sync.NewCond(&s.mu), idle: sync.NewCond(&s.mu),
	}
	s.rates = newRates(now, s.sleepers.alarm)
	s.permits = newPermits(limit, len(topics), now, &s.rates)
	for _, t := range topics {
		t.schedule = s
		for i := range t.Slots {
			t.slots = append(t.slots, t.newSlot(i, 0))
		}
		s.all += len(t.slots)
		for by := range t.limits {
			t.limits[by] = t.Most
		}
		s.permits.fit(t)
	}
	return s
}

// Next waits until there is something ready. It adds up to most slots of one server to
// hands, and none when the schedule is closed.
func (s *Schedule) Next(most int, hands []Hand) []Hand {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.ready.length == 0 && !s.closed {
		s.writers.Wait()
	}
	now := s.now()
	// A write to several servers of a Cluster would wait for the slowest.
	for from := s.ready.next(); from != nil && from.length > 0 && len(hands) < most; {
		hands = append(hands, Hand{Slot: from.first})
		s.fill(&hands[len(hands)-1], now)
	}
	if s.ready.length > 0 {
		s.writers.Signal()
	}
	return hands
}

// fill takes the slot of a hand out of the queue, and says what its turn may do.
func (s *Schedule) fill(h *Hand, now time.Time) {
	x := h.Slot
	s.ready.remove(x)
	x.woken = false
	s.set(x, Turning)
	h.Facts, h.Leave = x.facts, s.leaves(x, now)
	if !x.facts.Open { // else the turn is repeated unchanged
		if x.topic.excess.Load() > 0 {
			h.Leave = true
			s.permits.release(x) // at once, or more slots would give theirs up than must
		}
		if x.topic.rated != nil {
			if h.Leave = h.Leave || !s.permits.payAgain(x); h.Leave {
				s.permits.spend(x, 0)
			}
			h.Most = x.paid
		}
		if x.topic.Together != nil { // before the turn, so that it takes no more than can be handled at once
			s.permits.lend(x, h.beside())
		}
		if h.Leave || x.topic.Together != nil {
			s.serve()
		}
	}
	h.Permits = 1 + x.permit.borrowed
}

// leaves reports whether a slot's turn is to take nothing. One that was to be left, and was
// assigned anew while it was queued, has no permit: it is left, and then waits for one.
func (s *Schedule) leaves(x *Slot, now time.Time) bool {
	return !x.assigned || !x.permit.held || s.permits.suspended || gathersNext(x) || s.permits.yields(x, now)
}

// Busy returns how many slots have something to do and need not wait for a permit, and which
// share of all slots is this worker's.
func (s *Schedule) Busy() (slots int, share float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active - int(s.permits.waiters.Load()), float64(s.own) / float64(max(1, s.all))
}

// WaitIdle returns when every slot is asleep, or the schedule is closed.
func (s *Schedule) WaitIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waitIdle()
}

func (s *Schedule) waitIdle() {
	for s.active > 0 && !s.closed {
		s.idle.Wait()
	}
}

// Settle returns when every slot is asleep and none gathers: it ends that at once.
func (s *Schedule) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for again := true; again; {
		s.waitIdle()
		again = false
		for _, t := range s.topics {
			for _, x := range t.slots {
				if x.gathers && !s.closed {
					s.enqueue(x)
					again = true
				}
			}
		}
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
				s.takeAway(x)
			}
		}
	}
}

// Dropped returns the slots that were given up: see Slot.Drop.
func (s *Schedule) Dropped() []*Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Close ends the writers, and the alarm.
func (s *Schedule) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.done)
	s.writers.Broadcast()
	s.idle.Broadcast()
	s.Moves.recorded.Broadcast()
}

// Done is closed with the schedule.
func (s *Schedule) Done() <-chan struct{} { return s.done }
