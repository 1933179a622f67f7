package census

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// Census is what all topics hold. If they have many slots together it counts some topics at a time, beginning with the
// oldest count.
type Census struct {
	mu   sync.Mutex
	seen map[string]counted // by topic
}

// counted is a topic when it was counted.
type counted struct {
	stats  inspector.Stats
	missed []inspector.Failed // slots that could not be counted
	at     time.Time
}

// The bounds of one reading. One topic at least is counted.
const (
	countSlots  = 16_384
	countWithin = 5 * time.Second
)

// New returns a census of nothing.
func New() *Census { return &Census{seen: map[string]counted{}} }

// Count counts the next topics.
func (c *Census) Count(ctx context.Context, i *inspector.Inspector, topics []inspector.Topic) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	there := make(map[string]bool, len(topics))
	for _, t := range topics {
		there[t.Name] = true
	}
	maps.DeleteFunc(c.seen, func(name string, _ counted) bool { return !there[name] })
	next := slices.Clone(topics)
	slices.SortStableFunc(next, func(a, b inspector.Topic) int { return c.seen[a.Name].at.Compare(c.seen[b.Name].at) })
	began, left := time.Now(), countSlots
	for _, t := range next {
		if left <= 0 || time.Since(began) > countWithin {
			return nil
		}
		var partial inspector.PartialError
		s, err := i.Stats(ctx, t.Name)
		switch err := partial.Merge(err); {
		case errors.Is(err, inspector.ErrUnknownTopic): // it was deleted just now
			delete(c.seen, t.Name)
			continue
		case cluster.Unanswered(err), ctx.Err() != nil: // nor do the others
			return err
		case err != nil: // such as a key that this Redis user may not read
			partial.Failures = append(partial.Failures, inspector.Failed{Topic: t.Name, Slot: -1, Err: err})
			s = inspector.Stats{Topic: t, Workers: -1}
		}
		c.seen[t.Name] = counted{s, partial.Failures, time.Now()}
		left -= max(1, t.Slots)
	}
	return nil
}

// Of is what is known of topics: of those that were counted, in their order; those that were not yet; and the oldest count.
func (c *Census) Of(topics []inspector.Topic) (stats []inspector.Stats, missed []inspector.Failed, uncounted []string, oldest time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range topics {
		x, is := c.seen[t.Name]
		if !is {
			uncounted = append(uncounted, t.Name)
			continue
		}
		stats, missed = append(stats, x.stats), append(missed, x.missed...)
		if oldest.IsZero() || x.at.Before(oldest) {
			oldest = x.at
		}
	}
	return stats, missed, uncounted, oldest
}

// Past is how many messages each topic had in the last half hour, for the small charts.
type Past struct {
	mu   sync.Mutex
	owed map[string][]int // by topic: what waits and is retried, at each step
	last time.Time
}

const (
	Step  = 15 * time.Second
	Steps = 120
)

// NewPast returns a past of nothing.
func NewPast() *Past { return &Past{owed: map[string][]int{}} }

// Add notes what topics have now, unless the last time was just before.
func (p *Past) Add(now time.Time, all []inspector.Stats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.last) < Step*9/10 {
		return
	}
	p.last = now
	there := map[string]bool{}
	for _, s := range all {
		there[s.Topic.Name] = true
		kept := append(p.owed[s.Topic.Name], s.Waiting+s.Retrying)
		p.owed[s.Topic.Name] = kept[max(0, len(kept)-Steps):]
	}
	maps.DeleteFunc(p.owed, func(name string, _ []int) bool { return !there[name] })
}

// Of is how many messages a topic owed in the last half hour, and now.
func (p *Past) Of(topic string, now int) []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append(slices.Clone(p.owed[topic]), now)
}
