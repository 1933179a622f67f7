package fleet

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/sharing/keeper"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// session with ZooKeeper, which holds all batches of a term: there are no leases.
type session struct {
	*parts             // of the fleet
	suspects *sync.Map // holder that ZooKeeper is asked about → *suspicion
	term     *Term
	member   *keeper.Member
	ending   chan error // why the term must end although the session lives

	suspended bool // nothing is begun: see checkTrust
}

// ID is that of the session, also for a slot that stands in the place of
// another: that one keeps the id of its own, earlier session.
func (s *session) ID(int) string { return s.term.id }

func (s *session) Lease() time.Duration { return 0 }

// until returns the time until which handlers may begin if ZooKeeper stays silent. A worker
// that coasts does not need to hear it.
func (s *session) until() (until time.Time, coasts bool) {
	until = s.member.Until()
	return until, until.IsZero()
}

// trusted reports whether ZooKeeper has been heard recently enough.
func (s *session) trusted(now time.Time) bool {
	until, coasts := s.until()
	return coasts || now.Before(until)
}

// checkTrust acts on how long ZooKeeper has been silent: first no handler is started, then those that run are
// cancelled. If it is heard again in this session, no other worker can have taken anything over: the work
// goes on under the same id. It returns when to look again.
func (s *session) checkTrust(now time.Time) time.Duration {
	until, coasts := s.until()
	switch {
	case coasts:
		return showEvery
	case now.Before(until):
		if s.suspended {
			s.suspended = false
			if s.term.Handlers().Err() != nil {
				s.term.goOn()
			}
			s.schedule.Terms.Suspend(false)
			s.term.Log.Warn("ZooKeeper is heard again") // since the log said that it was not
		}
		return max(trustEvery, until.Sub(now))
	case !s.suspended:
		s.suspended = true
		s.schedule.Terms.Suspend(true)
		s.term.Log.Warn("nothing is heard from ZooKeeper; no handler is started")
	}
	if s.overdue(now) {
		s.interrupt()
		return trustEvery
	}
	return min(trustEvery, s.member.Deadline().Sub(now))
}

// interrupt cancels all handlers of the term, since others may take over soon.
func (s *session) interrupt() {
	if s.term.Handlers().Err() == nil {
		why := s.member.Silence()
		s.term.end(fmt.Errorf("%w: %w", verdict.ErrLeaseLost, why))
		s.term.Log.Warn("ZooKeeper is silent for too long; handlers are cancelled", zap.Error(why))
	}
}

// overdue reports whether no handler may run any more, unless ZooKeeper is heard again.
func (s *session) overdue(now time.Time) bool {
	deadline := s.member.Deadline()
	return !deadline.IsZero() && !now.Before(deadline)
}

func (s *session) Dead(holder string) bool { return s.member.Dead(holder) }

// Overtaken ends the term of a worker that coasts: its id has been proven dead.
// ZooKeeper is there, this worker alone is cut off, and it draws the conclusion.
func (s *session) Overtaken() {
	if _, coasts := s.until(); coasts {
		s.requestEnd(errors.New("another worker has proven it dead"))
	}
}

// errHanging is why a term ends when a handler does not return.
var errHanging = errors.New("a handler ignores its context")

// Hung ends the term, so that its session can end, too, and the message be given to
// another handler.
func (s *session) Hung(x *schedule.Slot) {
	x.MarkHung()
	s.Life.Go(func() { // Leaving waits for ZooKeeper: without it there is no other id
		if err := s.member.Leaving(s.Life.Background); err == nil || s.member.Err() == nil {
			s.requestEnd(errHanging)
		}
	})
}

// requestEnd asks for an end of the term that hurts no other handler.
func (s *session) requestEnd(why error) {
	select {
	case s.ending <- why:
	default: // it was asked for already
	}
}

// offer lets the coordinator give the slots of a term that is over to others. It does not wait: while
// ZooKeeper is silent, its deadline must be kept.
func (s *session) offer() {
	s.Life.Go(func() {
		if err := s.member.Leaving(s.Life.Background); err != nil && s.Life.Background.Err() == nil && s.member.Err() == nil {
			s.term.Log.Warn("the slots could not be offered to others", zap.Error(err))
		}
	})
}

// endGently ends a term whose session lives. When all handlers but those that hang have
// returned, it closes the session, and others may take over the rest.
func (s *session) endGently() {
	s.offer()
	ticker := time.NewTicker(trustEvery)
	defer ticker.Stop()
	for s.schedule.Terms.Carrying(s.term) {
		select {
		case <-ticker.C:
			if s.overdue(time.Now()) {
				s.interrupt()
				s.member.Abandon()
				return
			}
		case <-s.member.Lost():
			s.term.end(fmt.Errorf("%w: %w", verdict.ErrLeaseLost, s.member.Err()))
			s.member.Abandon()
			return
		case <-s.schedule.Done(): // all have returned, or they cannot be waited for
			if s.schedule.Terms.Carrying(s.term) {
				s.member.Abandon()
				return
			}
		}
	}
	s.member.Close()
	s.term.end(nil)
}

// Proofs of death. Without leases, nothing else frees the batch of a worker that died.

// proofAfter is how long a slot must have been busy before its holder's death is
// looked into: nearly always it is about to leave.
const proofAfter = 300 * time.Millisecond

// suspicion is what became of the questions about one holder. Only one is asked at a
// time.
type suspicion struct {
	asking atomic.Bool
	tries  int
	warned time.Time
}

// failuresAllowed is how many questions may fail before the log warns, since ZooKeeper
// may be about to elect a leader; and sayAgain how often it says so again.
const (
	failuresAllowed = 3
	sayAgain        = time.Minute
)

// failed counts a question without an answer, and reports whether a person should hear of it.
func (d *suspicion) failed(now time.Time) bool {
	d.tries++
	if d.tries < failuresAllowed || now.Sub(d.warned) < sayAgain {
		return false
	}
	d.warned = now
	return true
}

// Suspect asks ZooKeeper about the holder of a slot that stays busy.
func (s *session) Suspect(x *schedule.Slot, holder string, busy time.Duration) {
	if busy < proofAfter {
		return
	}
	known, _ := s.suspects.LoadOrStore(holder, new(suspicion))
	doubt := known.(*suspicion)
	if doubt.asking.Swap(true) {
		return
	}
	s.Life.Go(func() {
		defer doubt.asking.Store(false)
		dead, err := s.member.Verify(s.Life.Background, holder)
		if err == nil {
			s.suspects.Delete(holder)
		}
		switch {
		case err != nil:
			if s.Life.Background.Err() == nil {
				level := zap.DebugLevel
				if doubt.failed(time.Now()) {
					level = zap.WarnLevel
				}
				s.term.Log.Log(level, "it is not known whether the holder of a slot is dead, so its messages wait; mend what the error names, or end this worker, so that another one asks",
					zap.String("holder", holder), zap.String("topic", x.Topic().Name), zap.Int("slot", x.Index), zap.Error(err))
			}
		case dead:
			s.HolderDied(s.schedule.HeldBy(holder))
			n := s.schedule.WakeHeldBy(holder)
			s.term.Log.Warn("a worker is dead; its batches are taken over", zap.String("holder", holder), zap.Int("slots", n))
		}
	})
}
