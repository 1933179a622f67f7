package consumer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/keeper"
	"github.com/slotmq/go-rmq/internal/wait"
	"github.com/slotmq/go-rmq/message"
)

// Sessions with ZooKeeper: one for each term of the worker.

// Between tries to get a session the waiting doubles between these.
const (
	firstEntry = 100 * time.Millisecond
	lastEntry  = 5 * time.Second
)

// holdEvery is how often the slots that the worker has are shown to people, and
// trustEvery how often a worker that may start nothing looks whether it may again.
const (
	holdEvery  = 250 * time.Millisecond
	trustEvery = 20 * time.Millisecond
)

// errHanging is why a term ends that has a handler which does not return.
var errHanging = errors.New("a handler ignores its context")

// enter begins a term with a session of its own.
func (c *Consumer) enter(ctx context.Context) error {
	t := c.newTerm()
	byName := map[string]*topic{}
	w := keeper.Worker{Name: c.cfg.Worker, Namespace: c.cfg.Namespace, Logger: c.cfg.Logger}
	if last := c.term.Load(); last != nil {
		w.Tree = last.member.Tree() // in another one, all that it knows would look dead
	}
	for _, topic := range c.topics {
		byName[topic.Name] = topic
		w.Topics = append(w.Topics, keeper.Topic{
			Name: topic.Name, Kind: topic.Kind.String(), Slots: topic.Slots, Literal: topic.Literal,
		})
	}
	w.Own = func(name string, share []int) { c.assign(byName[name], t, share) }
	var err error
	if t.member, err = c.cfg.Slots.Join(ctx, w); err != nil {
		t.end(nil)
		if errors.Is(err, keeper.ErrConflict) {
			err = conflict{err}
		}
		return err
	}
	t.id = t.member.ID()
	t.log = c.cfg.Logger.With(zap.String("member", t.id))
	c.begin(t)
	return nil
}

// enterFirst is enter for a start. Workers of two trees in ZooKeeper would take each
// other for dead, so the definitions are compared once more, with the tree's id.
func (c *Consumer) enterFirst(ctx context.Context) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	err := c.agree(ctx, c.topics)
	if err != nil {
		c.term.Swap(nil).member.CloseIn(ctx)
	}
	return err
}

// conflict is a message.ErrTopicConflict that was found in ZooKeeper.
type conflict struct{ error }

func (c conflict) Unwrap() []error { return []error{message.ErrTopicConflict, c.error} }

// keep keeps the worker in a term until it has left its slots: when a session is
// lost, it gets another.
func (c *Consumer) keep() {
	for {
		t := c.term.Load()
		why, lost := c.watch(t)
		if why == nil {
			return
		}
		if lost {
			t.end(fmt.Errorf("%w: %w", ErrLeaseLost, why))
		}
		if c.background.Err() != nil { // closing: nothing new is begun
			<-c.schedule.Done()
			return
		}
		t.log.Warn("the worker gives up its id", zap.Error(why))
		c.schedule.EndTerm()
		if lost {
			t.member.Abandon()
		} else {
			c.retire(t)
		}
		if !c.enterAgain() {
			<-c.schedule.Done()
			return
		}
	}
}

// watch returns when the term must end: with lost, because the session is lost, and
// else because a handler hangs. It returns no error when the slots have been left.
func (c *Consumer) watch(t *term) (why error, lost bool) {
	show := time.NewTicker(holdEvery)
	defer show.Stop()
	trust := time.NewTimer(0)
	defer trust.Stop()
	retiring := t.retiring
	suspended := false
	for {
		select {
		case <-t.member.Lost():
			return t.member.Err(), true
		case why := <-retiring:
			if c.background.Err() == nil {
				return why, false
			}
			retiring = nil // it will be named by Close
		case <-trust.C:
			now := time.Now()
			if t.heard(now) == suspended {
				suspended = !suspended
				c.schedule.Suspend(suspended)
				if suspended {
					t.log.Warn("nothing is heard from ZooKeeper; no handler is started")
				} else {
					t.log.Info("ZooKeeper is heard again")
				}
			}
			if until := t.member.Until(); until.IsZero() { // it coasts
				trust.Reset(holdEvery)
			} else {
				trust.Reset(max(trustEvery, until.Sub(now)))
			}
		case <-show.C:
			for _, moved := range c.schedule.Moved() { // all of them at first
				t.member.Hold(moved.Name, c.schedule.Holding(moved))
			}
		case <-c.schedule.Done():
			return nil, false
		}
	}
}

// enterAgain tries to get a session until it has one, or the worker closes.
func (c *Consumer) enterAgain() bool {
	pause, told := firstEntry, false // told: a conflict, which waits for a person
	for tries := 1; ; tries++ {
		err := c.enter(c.background)
		if err == nil {
			c.term.Load().log.Info("the worker has a new id")
			return true
		}
		if c.background.Err() != nil {
			return false
		}
		conflict := errors.Is(err, message.ErrTopicConflict)
		if tries == 1 || tries%10 == 0 || conflict && !told {
			tell := c.log.Warn
			if conflict {
				tell, told = c.log.Error, true
			}
			tell("no session with ZooKeeper; trying again", zap.Int("tries", tries), zap.Error(err))
		}
		if !wait.Sleep(c.background, pause/2+rand.N(pause/2)) {
			return false
		}
		pause = min(2*pause, lastEntry)
	}
}

// retire ends a term whose session lives: when all has returned that will, the
// session is closed, and whoever hangs may be taken over from.
func (c *Consumer) retire(t *term) {
	c.running.Go(func() {
		if err := t.member.Leaving(c.background); err != nil {
			t.log.Warn("the slots could not be offered to others", zap.Error(err))
		}
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for c.schedule.Carrying(t) {
			select {
			case <-ticker.C:
			case <-t.member.Lost():
				t.end(fmt.Errorf("%w: %w", ErrLeaseLost, t.member.Err()))
				t.member.Abandon()
				return
			case <-c.schedule.Done(): // all have returned, or they cannot be waited for
				if c.schedule.Carrying(t) {
					t.member.Abandon()
					return
				}
			}
		}
		t.member.Close()
		t.end(nil)
	})
}

// endTerm ends the last term when every slot has been left.
func (c *Consumer) endTerm() {
	t := c.term.Load()
	if t.member != nil {
		t.member.Close()
	}
	t.end(nil)
}

// abandon leaves the last session to its timeout: some handlers do not return.
func (c *Consumer) abandon() {
	if t := c.term.Load(); t.member != nil {
		t.member.Abandon()
	}
}

// desert leaves a slot to a handler that ignores its context.
func (c *Consumer) desert(x *slot) {
	t := x.term()
	if t.member == nil {
		c.schedule.ReplaceHung(&x.Slot)
		return
	}
	c.schedule.MarkHung(&x.Slot)
	c.watching.Go(func() { // without ZooKeeper there is no other id, and what coasts goes on with this one
		if err := t.member.Leaving(c.background); err == nil || t.member.Err() == nil {
			t.retire(errHanging)
		}
	})
}
