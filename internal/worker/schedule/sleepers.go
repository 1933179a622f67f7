package schedule

import (
	"slices"
	"time"
)

// sleepers are the slots that wake by themselves, by when they do.
type sleepers struct {
	ordered[*Slot]
	alarm alarm
}

// alarm is what wakes the sleepers, and the topics without tokens.
type alarm chan struct{}

// sooner has it look again: something is to be done sooner than before.
func (a alarm) sooner() {
	select {
	case a <- struct{}{}:
	default:
	}
}

func newSleepers() sleepers {
	return sleepers{alarm: make(alarm, 1), ordered: ordered[*Slot]{
		less: func(a, b *Slot) bool { return a.at.Before(b.at) },
		rank: func(x *Slot) *int { return &x.rank },
	}}
}

// never is when a slot wakes that is only woken.
var never time.Time

// set sets when a slot wakes by itself.
func (h *sleepers) set(x *Slot, at time.Time) {
	x.gathers = false
	if x.at = at; at.IsZero() {
		h.remove(x)
		return
	}
	h.put(x)
	if h.all[0] == x {
		h.alarm.sooner()
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
		case <-s.sleepers.alarm:
		case <-s.done:
			return
		}
	}
}

// wakeDue makes the slots ready whose time has come, and returns how long it is until
// the next one's. It takes the lock.
func (s *Schedule) wakeDue() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wake(s.now())
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
func (s *Schedule) HeldBy(holder string) []*Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heldBy(holder)
}

// WakeHeldBy makes the slots ready that sleep because another worker holds them, and
// returns how many they are.
func (s *Schedule) WakeHeldBy(holder string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	slots := s.heldBy(holder)
	for _, x := range slots {
		s.enqueue(x)
	}
	return len(slots)
}

func (s *Schedule) heldBy(holder string) (slots []*Slot) {
	for _, t := range s.topics {
		for _, x := range t.slots {
			if x.assigned && x.state == Asleep && x.facts.Holder == holder {
				slots = append(slots, x)
			}
		}
	}
	return slots
}
