package session

import (
	"slices"
	"sync"
	"time"
)

// Beats is how many writes a worker makes in a session timeout. With more of them it
// survives longer outages. A beat must be longer than half a tick of the servers; see
// confirmed.
const Beats = 8

// signs of life are the answers that prove that a session lives, and say for how long.
type signs struct {
	mu      sync.Mutex
	granted time.Duration // the timeout ZooKeeper has granted
	alive   time.Time     // see confirmed
	heard   time.Time     // when the last write was begun that was answered; not of each
	dialed  time.Time     // when the present connection was begun
}

// connected notes the welcome of a server on a connection.
func (s *signs) connected(dialed time.Time, granted time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.granted, s.dialed = granted, dialed
}

// Timeout is the one that ZooKeeper has granted.
func (s *signs) Timeout() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.granted
}

// AnswerTimeout is how long a call waits for its answer.
func (s *signs) AnswerTimeout() time.Duration { return s.Timeout() / 3 }

// confirmed is the last time at which the session was surely alive: it does not end
// before a whole session timeout has passed since then.
//
// An answer of one server proves nothing. A leader that has lost the others goes on
// answering, even to a sync, until it notices. By then the others may have elected
// another one, which may end the session. A write is decided by a majority, so not by such a leader.
// But a follower reports only twice in a tick to the leader which sessions have asked
// something; when both are cut off from each other before that, the leader counts from
// the request before. So an answered write confirms the one before it, which is a beat
// older, or the beginning of the connection, which the leader learns at once.
func (s *signs) confirmed() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alive
}

// answered is when the last write was begun that was answered, to within a beat.
func (s *signs) answered() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard
}

// confirm notes when a write was begun that was answered.
func (s *signs) confirm(begun time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if begun.After(s.dialed) { // else another connection may have brought the answer
		s.alive = slices.MaxFunc([]time.Time{s.alive, s.dialed}, time.Time.Compare)
	}
	if begun.Sub(s.heard) >= s.granted/Beats {
		s.alive, s.heard = slices.MaxFunc([]time.Time{s.alive, s.heard}, time.Time.Compare), begun
	}
}

// Deadline is when others may prove us dead, less a margin.
func (s *signs) Deadline() time.Time {
	timeout := s.Timeout()
	return s.confirmed().Add(timeout - marginOf(timeout))
}

// marginOf is what is left for handlers to return when their contexts were cancelled.
func marginOf(timeout time.Duration) time.Duration {
	return min(max(timeout/10, 500*time.Millisecond), timeout/4)
}
