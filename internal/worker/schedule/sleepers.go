package schedule

import (
	"slices"
	"time"
)

// newSleepers is a heap of slots by the time they wake.
func newSleepers() ordered[*Slot] {
	return ordered[*Slot]{
		less: func(a, b *Slot) bool { return a.at.Before(b.at) },
		rank: func(x *Slot) *int { return &x.rank },
	}
}

// sleepLocked sets when a slot wakes by itself; never, if at is zero.
func (s *Schedule) sleepLocked(x *Slot, at time.Time) {
	x.gathers = false
	if x.at = at; at.IsZero() {
		s.sleepers.remove(x)
		return
	}
	s.sleepers.put(x)
	if s.sleepers.all[0] == x {
		s.soonerLocked()
	}
}

// soonerLocked has the alarm look again: something is to be done sooner than before.
func (s *Schedule) soonerLocked() {
	select {
	case s.earlier <- struct{}{}:
	default:
	}
}

// Alarm wakes the slots whose time has come, until the schedule is closed. One goroutine
// of the caller's runs it.
func (s *Schedule) Alarm() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(s.wakeDue())
		select {
		case <-timer.C:
		case <-s.earlier:
		case <-s.done:
			return
		}
	}
}

// wakeDue makes the slots ready whose time has come, and returns how long it is until
// the next one's.
func (s *Schedule) wakeDue() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	in := s.refillLocked(now)
	for len(s.sleepers.all) > 0 {
		first := s.sleepers.all[0]
		if until := first.at.Sub(now); until > 0 {
			return min(in, until)
		}
		if first.state == Asleep && !first.gathers {
			s.gatherLocked(first)
		} else {
			s.readyLocked(first)
		}
	}
	return in
}

// Wake makes a slot that is asleep ready after a while, at once if that is 0.
func (t *Topic) Wake(index int, in time.Duration) {
	s := t.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.hasLocked(index) {
		return
	}
	x := t.slots[index]
	switch {
	case !x.assigned:
	case x.state == Turning:
		x.woken = true // the turn may have looked before the message was there
	case x.state == Asleep && in <= 0:
		s.gatherLocked(x)
	case x.state == Asleep && !x.gathers:
		if at := s.now().Add(in); x.at.IsZero() || at.Before(x.at) {
			s.sleepLocked(x, at)
		}
	}
}

// Sleeper is a slot that sleeps until a time, or until it is woken if that is zero.
type Sleeper struct {
	*Slot
	Until  time.Time
	Unseen bool // it is new to this worker, and was not looked at before
}

// Sleeping returns those of some slots that sleep and are this worker's, but for those
// that are paused or another's: they look by themselves. One whose turn is under way is
// to turn again: the turn may have been executed before a message came whose wake-up got
// lost, and its answer would send the slot to sleep after this look.
func (s *Schedule) Sleeping(slots []*Slot) (sleep []Sleeper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range slots {
		switch {
		case !x.assigned:
		case x.state == Asleep:
			if x.unseen || !x.facts.Unavailable {
				sleep = append(sleep, Sleeper{x, x.at, x.unseen})
				x.unseen = false
			}
		case x.state == Turning:
			x.woken = true
		}
	}
	return sleep
}

// Failing reports whether some of these slots have a turn that has no answer yet, although
// it was tried.
func (s *Schedule) Failing(slots []*Slot) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(slots, func(x *Slot) bool { return x.facts.Failures > 0 })
}

// HeldBy returns the slots that sleep because another worker holds them.
func (s *Schedule) HeldBy(holder string) (slots []*Slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.topics {
		for _, x := range t.slots {
			if x.assigned && x.state == Asleep && x.facts.Holder == holder {
				slots = append(slots, x)
			}
		}
	}
	return slots
}

// WakeHeldBy makes the slots ready that sleep because another worker holds them, and
// returns how many they are.
func (s *Schedule) WakeHeldBy(holder string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.topics {
		for _, x := range t.slots {
			if x.assigned && x.state == Asleep && x.facts.Holder == holder {
				s.readyLocked(x)
				n++
			}
		}
	}
	return n
}
