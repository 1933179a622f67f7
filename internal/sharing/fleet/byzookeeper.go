package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/sharing/keeper"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// byZooKeeper shares the slots out by ZooKeeper. A worker has one session for each of its
// terms, which holds its batches: see session.go.
type byZooKeeper struct {
	*parts
	suspects sync.Map // holder that ZooKeeper is asked about → *suspicion
	answers  *answers // set by join
}

func newByZooKeeper(p *parts) sharing { return &byZooKeeper{parts: p} }

// The pause between tries to get a session doubles, from the first to the last of
// these.
const (
	firstEntry = 100 * time.Millisecond
	lastEntry  = 5 * time.Second
)

// showEvery is how often the worker shows people its slots. trustEvery is how often a
// worker that may start nothing looks whether it may again.
const (
	showEvery  = 250 * time.Millisecond
	trustEvery = 20 * time.Millisecond
)

// defined names the tree that the worker is in, once it is in one.
func (f *byZooKeeper) defined() definition.Sharing {
	by := definition.Sharing{Way: definition.SharingZooKeeper}
	if s := f.present(); s != nil {
		by.Tree = s.member.Tree()
	}
	return by
}

// present is the session of the present term, or the last; nil before the first.
func (f *byZooKeeper) present() *session {
	if t := f.terms.present.Load(); t != nil {
		return t.Claim.(*session)
	}
	return nil
}

// join gets the first session. Workers of two trees in ZooKeeper would take each
// other for dead, so the definitions are compared once more, with the tree's id.
func (f *byZooKeeper) join(ctx context.Context) error {
	f.answers = &answers{parts: f.parts, begun: time.Now()}
	if err := f.enter(ctx); err != nil {
		return err
	}
	f.Life.Go(f.answers.keep)
	s := f.present()
	err := f.answers.unlessAlone(ctx, s.member, f.agree)
	if err != nil {
		f.terms.present.Store(nil)
		s.member.CloseIn(ctx)
	}
	return err
}

func (f *byZooKeeper) undo(context.Context) {
	if s := f.present(); s != nil { // it has nothing in hand
		f.terms.present.Store(nil)
		s.member.Close()
	}
}

// enter begins a term with a session of its own.
func (f *byZooKeeper) enter(ctx context.Context) error {
	t := f.terms.open(f.Log)
	s := &session{parts: f.parts, suspects: &f.suspects, term: t, ending: make(chan error, 1)}
	byName := map[string]*Topic{}
	w := keeper.Worker{Name: f.ID, Namespace: f.Namespace, Logger: f.Logger}
	if last := f.present(); last != nil {
		w.Tree = last.member.Tree() // in another one, all that it knows would look dead
	}
	for _, topic := range f.Topics {
		byName[topic.Name] = topic
		w.Topics = append(w.Topics, keeper.Topic{
			Name: topic.Name, Kind: topic.Kind.String(), Slots: topic.Slots, Literal: topic.Literal, Notes: topic.Notes,
		})
	}
	w.Quiet = f.answers.quiet
	w.Own = func(name string, share []int) { f.terms.assign(byName[name], t, share) }
	var err error
	if s.member, err = f.Sharing.Keeper().Join(ctx, w); err != nil {
		t.end(nil)
		if errors.Is(err, keeper.ErrConflict) {
			err = conflict{err}
		}
		return err
	}
	f.answers.timeout.Store(int64(s.member.Timeout()))
	t.id, t.Claim = s.member.ID(), s
	t.Log = f.Logger.With(zap.String("member", t.id))
	f.terms.begin(t)
	return nil
}

// conflict is a message.ErrTopicConflict that was found in ZooKeeper.
type conflict struct{ error }

func (c conflict) Unwrap() []error { return []error{message.ErrTopicConflict, c.error} }

// run keeps the worker in a term until it has left its slots: when a session is
// lost, it gets another.
func (f *byZooKeeper) run() {
	for {
		s := f.present()
		why, lost := f.watch(s)
		if why == nil {
			return
		}
		cutOff := errors.Is(why, ErrCutOff)
		if lost || cutOff {
			s.term.end(fmt.Errorf("%w: %w", verdict.ErrLeaseLost, why))
		}
		if cutOff {
			s.term.Log.Warn("cut off from Redis: the worker gives up its slots", zap.Error(why))
			f.Life.Go(s.endCutOff)
		}
		if f.Life.Background.Err() != nil { // closing: nothing new is begun
			<-f.schedule.Done()
			return
		}
		if !cutOff {
			s.term.Log.Warn("the worker gives up its id", zap.Error(why))
		}
		f.schedule.Terms.End()
		switch {
		case lost:
			s.member.Abandon()
		case !cutOff:
			f.Life.Go(s.endGently)
		}
		if cutOff && !f.answers.await() || !f.enterAgain() {
			<-f.schedule.Done()
			return
		}
	}
}

// watch returns when the term must end, and why. Either the session is lost; or it lives,
// but the worker is cut off from Redis, a handler hangs, or another worker has proven this
// one dead. It returns no error when the slots have been left.
func (f *byZooKeeper) watch(s *session) (why error, lost bool) {
	show := time.NewTicker(showEvery)
	defer show.Stop()
	trust := time.NewTimer(0)
	defer trust.Stop()
	ending := s.ending
	for {
		select {
		case <-s.member.Lost():
			return s.member.Err(), true
		case <-s.member.Alone():
			return ErrCutOff, false
		case why := <-ending:
			if f.Life.Background.Err() == nil {
				return why, false
			}
			ending = nil // Close names the handler that hangs
		case <-trust.C:
			trust.Reset(s.checkTrust(time.Now()))
		case <-show.C:
			for _, t := range f.schedule.Moves.Topics() { // all of them at first
				s.member.Show(t.Name, t.Holding())
			}
		case <-f.schedule.Done():
			return nil, false
		}
	}
}

// enterAgain tries to get a session until it has one, or the worker closes.
func (f *byZooKeeper) enterAgain() bool {
	pause, logged := firstEntry, false // logged: a conflict, which waits for a person
	for tries := 1; ; tries++ {
		err := f.enter(f.Life.Background)
		if err == nil {
			f.present().term.Log.Warn("the worker has a new id") // since the log said that it gave its id up
			return true
		}
		if f.Life.Background.Err() != nil {
			return false
		}
		conflict := errors.Is(err, message.ErrTopicConflict)
		if tries == 1 || tries%10 == 0 || conflict && !logged {
			say := f.Log.Warn
			if conflict {
				say, logged = f.Log.Error, true
			}
			say("no session with ZooKeeper; trying again", zap.Int("tries", tries), zap.Error(err))
		}
		if !wait.Sleep(f.Life.Background, pause/2+rand.N(pause/2)) {
			return false
		}
		pause = min(2*pause, lastEntry)
	}
}

// attend works again at a topic that was refused for a while.
func (f *byZooKeeper) attend(t *Topic) { f.terms.workAt(t, f.terms.present.Load()) }

func (f *byZooKeeper) next(*Topic, time.Time) time.Duration { return min(f.Lease/3, f.Recheck) }

// leave lets the coordinator give the slots to others.
func (f *byZooKeeper) leave(ctx context.Context) {
	s := f.present()
	if s.overdue(time.Now()) {
		return // ZooKeeper does not answer, and end leaves the session to its timeout
	}
	if err := s.member.Leaving(ctx); err != nil {
		f.Log.Warn("the slots could not be offered to others", zap.Error(err))
	}
}

func (f *byZooKeeper) end() {
	s := f.present()
	if s.overdue(time.Now()) {
		f.abandon()
	} else {
		s.member.Close()
	}
	s.term.end(nil)
}

// abandon leaves the last session to its timeout.
func (f *byZooKeeper) abandon() {
	f.Life.GoLate(f.present().member.Abandon) // the library may take a while
}

func (f *byZooKeeper) silent() error {
	return errors.New("ZooKeeper does not answer; the slots are left, and go to others when the session has ended")
}
