package schedule

import "time"

// A busy slot keeps its place from batch to batch, since a turn that only reports
// would be one more. It must not do so for ever while others wait.

// Slice is how long a slot that is busy keeps its place while others wait for one
// that have no better right to it. The batch it has in hand when that is over ends
// with the message being handled. So with more topics than places all of them busy,
// each is served within (topics/places, rounded up) × (a slice + the longest handler).
const Slice = 100 * time.Millisecond

// yieldsLocked reports whether a slot that finishes a batch must let another have
// its place.
func (s *Schedule) yieldsLocked(x *Slot, now time.Time) bool {
	if !x.facts.Held {
		return false
	}
	ahead := s.aheadLocked(x)
	return ahead > 1 || now.Sub(x.since) > Slice && (ahead > 0 || x.topic.waiting.length > 0)
}

// aheadLocked is how many more places the slot's topic has than the hungriest one.
// A difference of two means that they would be shared out more evenly if the slot
// had none. With one, the two topics take turns. A topic that has all it may have
// is not hungry: it could not use the place.
func (s *Schedule) aheadLocked(x *Slot) int {
	if len(s.hungry.all) == 0 {
		return 0
	}
	return x.topic.used - s.hungry.all[0].used
}

// Wanted reports whether another could use the place of a slot. The caller knows that
// the slot has had it for a slice.
func (x *Slot) Wanted() bool {
	s := x.topic.schedule
	if s.waiters.Load() == 0 { // nearly always
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.aheadLocked(x) > 0 || x.topic.waiting.length > 0
}
