package consumer

import (
	"slices"
	"time"
)

// Places are the handlers that may run at once. Each topic has a fair share of
// them, the limit divided by the number of topics. A topic may use what others
// leave, except for half of their shares: so a topic whose handlers are slow
// never keeps another from starting at once.

func (s *schedule) share() int { return s.limit / len(s.topics) }

// free reports whether the topic may have one more place.
func (s *schedule) free(t *topic) bool {
	if s.suspended || s.used >= s.limit || t.used >= t.opts.Concurrency {
		return false
	}
	reserve := s.share() / 2
	if t.used < reserve {
		return true
	}
	kept := 0
	for _, other := range s.topics {
		if other != t {
			kept += max(0, min(reserve, other.opts.Concurrency)-other.used)
		}
	}
	return s.used+kept < s.limit
}

// take gives the slot a place.
func (s *schedule) take(x *slot) {
	x.place, x.since = true, time.Now()
	x.topic.used++
	s.used++
}

// release gives back the slot's place, if it has one, to whoever waits: the
// topic that uses the fewest first, and in it the slot that has waited longest.
func (s *schedule) release(x *slot) {
	if x.place {
		x.place = false
		s.giveBack(x.topic, 1)
	}
}

// giveBack gives back n places of a topic.
func (s *schedule) giveBack(t *topic, n int) {
	t.used -= n
	s.used -= n
	s.serveWaiting()
}

// serveWaiting gives free places to slots that wait for one.
func (s *schedule) serveWaiting() {
	for {
		var next *topic
		for _, other := range s.topics {
			if len(other.waiting) > 0 && s.free(other) && (next == nil || other.used < next.used) {
				next = other
			}
		}
		if next == nil {
			return
		}
		x := next.waiting[0]
		next.waiting = slices.Delete(next.waiting, 0, 1)
		s.ready(x)
	}
}

// borrow takes up to n more places for a slot's batch that is handled in parallel.
func (s *schedule) borrow(x *slot, n int) (got int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for got < n && s.free(x.topic) {
		got++
		x.topic.used++
		s.used++
	}
	x.borrowed += got
	return got
}

// room is how many more places the topic could have just now.
func (s *schedule) room(t *topic) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.free(t) {
		return 0
	}
	return min(s.limit-s.used, t.opts.Concurrency-t.used)
}

// repay gives one borrowed place back, if there is one.
func (s *schedule) repay(x *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.borrowed > 0 {
		x.borrowed--
		s.giveBack(x.topic, 1)
	}
}
