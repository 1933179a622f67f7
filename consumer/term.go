package consumer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/keeper"
)

// term is a time during which this worker has one id. Where the slots are shared
// out in Redis it lasts as long as the worker. Where ZooKeeper does it, it is one
// session: when that is lost the others may prove the id dead, and the next term
// has another session and another id.
type term struct {
	id       string
	log      *zap.Logger             // names the id
	member   *keeper.Member          // nil: shared out in Redis
	handlers context.Context         // of all handlers begun in it
	end      context.CancelCauseFunc // of them
	retiring chan error              // why it must end although the session lives

	mu     sync.Mutex
	shares map[string][]int // slots assigned, by topic
}

// ID of a slot in this term. Without a session each slot that stands in the place of
// another has an id of its own, for the lease of the one before is not over yet.
func (t *term) ID(replacement int) string {
	if t.member == nil && replacement > 0 {
		return fmt.Sprintf("%s+%d", t.id, replacement)
	}
	return t.id
}

func (c *Consumer) newTerm() *term {
	t := &term{log: c.log, retiring: make(chan error, 1), shares: map[string][]int{}}
	t.handlers, t.end = context.WithCancelCause(c.handlers)
	return t
}

// trusted reports whether a handler may be started. It is asked immediately
// before each.
func (t *term) trusted(now time.Time) bool {
	return t.handlers.Err() == nil && (t.member == nil || t.heard(now)) // else the lease tells
}

// heard reports whether ZooKeeper has been heard recently enough.
func (t *term) heard(now time.Time) bool {
	until := t.member.Until()
	return until.IsZero() || now.Before(until)
}

// retire asks for an end of the term that hurts nobody.
func (t *term) retire(why error) {
	select {
	case t.retiring <- why:
	default: // it was asked for already
	}
}

// begin makes t the worker's term.
func (c *Consumer) begin(t *term) {
	c.schedule.Begin(t)
	c.term.Store(t)
	for _, topic := range c.topics {
		c.workAt(topic, t)
	}
}

// assign notes which slots of a topic are the worker's in a term, and begins to
// work there. It may be called before the term begins.
func (c *Consumer) assign(t *topic, in *term, share []int) {
	in.mu.Lock()
	in.shares[t.Name] = share
	in.mu.Unlock()
	if c.term.Load() == in {
		c.workAt(t, in)
	}
}

// workAt makes the worker work at the slots of a topic that are its own, and at
// no others: at none while the topic is refused.
func (c *Consumer) workAt(t *topic, in *term) {
	in.mu.Lock()
	defer in.mu.Unlock()
	share, told := in.shares[t.Name]
	if !told {
		return
	}
	if t.refused.Load() { // asked while others wait, or they would work at it after all
		share = nil
	}
	gained, lost := c.schedule.Assign(t.scheduled, in, share)
	if gained > 0 {
		c.looks.hurry(t)
	}
	if gained+lost > 0 {
		in.log.Info("slots were shared out", zap.String("topic", t.Name),
			zap.Int("slots", len(share)), zap.Int("gained", gained), zap.Int("given_away", lost))
	}
}
