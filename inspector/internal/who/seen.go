package who

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/message"
)

// Seen is what the slots of a topic hold, and who works at them.
type Seen struct {
	Slots  []int // that could be looked at
	Counts []byhand.Counts
	Shares
}

// Look looks at all slots of a topic. A [PartialError] comes with those that it could look at.
func (w *Who) Look(ctx context.Context, t ask.Topic) (s Seen, err error) {
	failed := w.Failing()
	s.Counts, s.Slots, err = w.Counts(ctx, t, ask.AllSlots(t))
	if err := failed.Merge(err); err != nil {
		return s, err
	}
	s.Shares, err = w.Shares(ctx, t)
	if err := failed.Merge(err); err != nil {
		return s, err
	}
	return s, failed.Err()
}

// FirstOf is when what comes first in a slot is due, which priority waits, and how long it has been due; zero: none, or it is not known.
func FirstOf(t ask.Topic, c *byhand.Counts) (next time.Time, priority int64, overdue time.Duration) {
	next = c.NextRetry
	switch first := time.UnixMilli(c.Next); {
	case c.Next <= message.MaxRetries: // none, or failed ones only
	case !t.Kind.Timed():
		priority = c.Next
	case next.IsZero() || first.Before(next):
		next = first
	}
	if !next.IsZero() {
		overdue = max(0, c.Now.Sub(next))
	}
	return next, priority, overdue
}

// Sum adds up what is counted in the slots.
func (s Seen) Sum(of func(*byhand.Counts) int) (n int) {
	for k := range s.Counts {
		n += of(&s.Counts[k])
	}
	return n
}
