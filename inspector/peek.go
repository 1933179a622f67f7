package inspector

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/pages"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/score"
	"github.com/slotmq/go-rmq/message"
)

// Peek goes through up to limit messages in a state, in the slots given, nil meaning all.
// Messages that wait come in the order in which they will be delivered, those in flight in the
// order in which they were taken, and the dead from the latest on. It reads page by page and
// keeps no page. Workers go on meanwhile, so it is no picture of one moment. An error is the
// last it yields: a [PartialError], if some slots could not be read, and the others were.
func (i *Inspector) Peek(ctx context.Context, topic string, state State, slots []int, limit int) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		failed := i.w.Failing()
		t, walks, err := peek(ctx, i, topic, state, slots, limit, &failed)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		met := 0
		fail := func(w *pages.Walk, why error) error { return failed.Add(ctx, t.Name, w.Slot, w.Key, why) }
		for m, err := range pages.Merge(ctx, i.w.Ground, walks, 0, fail) {
			if err != nil {
				yield(Entry{}, fmt.Errorf("peek at topic %s: %w", topic, err))
				return
			}
			if !yield(entryOf(t, m.In.Slot, state, m.Content, score.Whole(m.Score)), nil) {
				return
			}
			if met++; met == limit {
				break
			}
		}
		if err := failed.Err(); err != nil {
			yield(Entry{}, err)
		}
	}
}

// peek prepares to go through messages. What cannot be counted is noted.
func peek(ctx context.Context, i *Inspector, topic string, state State, slots []int, limit int, failed *ask.Failures) (Topic, []*pages.Walk, error) {
	if err := ask.Given(ctx, "peek at topic "+topic); err != nil {
		return Topic{}, nil, err
	}
	if limit < 1 {
		return Topic{}, nil, &message.InvalidError{Field: "limit", Value: strconv.Itoa(limit), Limit: "1 or more"}
	}
	t, err := i.w.Topic(ctx, topic)
	if err != nil {
		return t, nil, err
	}
	which, err := ask.Chosen(t, slots)
	if err != nil {
		return t, nil, err
	}
	counts, which, err := i.w.Counts(ctx, t, which)
	if err := failed.Merge(err); err != nil {
		return t, nil, err
	}
	var queues []queue
	for n, c := range counts {
		found, err := queuesOf(t, which[n], i.w.Keys(t.Name, which[n]), state, &c)
		if err != nil {
			return t, nil, err
		}
		queues = append(queues, found...)
	}
	// Only those whose first one is among the first can be seen.
	slices.SortStableFunc(queues, func(a, b queue) int { return cmp.Compare(a.head, b.head) })
	queues = queues[:min(limit, len(queues))]
	walks := make([]*pages.Walk, len(queues))
	for n, q := range queues {
		walks[n] = pages.NewWalk(q.key, q.low, q.high, q.down, min(limit, max(1, min(100, 10_000/len(queues)))))
		walks[n].Slot, walks[n].From, walks[n].Head = q.slot, q.from, q.first
	}
	return t, walks, nil
}

// queue is a part of a sorted set that holds messages in one state.
type queue struct {
	slot      int
	key       string
	low, high float64 // scores
	down      bool    // the highest comes first
	head      int64   // says which of several queues comes first
	first     float64 // no score comes before this one
	from      int     // rank of one that comes before all of them
}

// queuesOf are those of a slot that are not empty. In a literal topic failed ones wait in
// two places: in the store, and if a worker handed them back, in retry.
func queuesOf(t Topic, slot int, k protocol.SlotKeys, state State, c *byhand.Counts) ([]queue, error) {
	lowest, highest := math.Inf(-1), math.Inf(1) // other programs may have written any score
	switch state {
	case Waiting:
		q := queue{slot: slot, key: k.Store, low: math.Nextafter(message.MaxRetries, highest), high: highest, head: c.Next, first: pages.Floor(c.Next), from: max(0, c.Failed-1)}
		if !t.Kind.Timed() {
			q.down, q.head, q.first, q.from = true, -c.Next, pages.Ceiling(c.Next), 0
		}
		if c.Stored > c.Failed {
			return []queue{q}, nil
		}
	case InFlight:
		if c.InFlight > 0 {
			return []queue{{slot: slot, key: k.Prepare, low: lowest, high: highest, head: c.Taken.Unix(), first: pages.Floor(c.Taken.UnixMilli())}}, nil
		}
	case Retrying:
		var both []queue
		if c.Failed > 0 {
			both = append(both, queue{slot: slot, key: k.Store, low: lowest, high: message.MaxRetries, first: lowest})
		}
		if c.Retrying > 0 {
			both = append(both, queue{slot: slot, key: k.Retry, low: lowest, high: highest, head: c.NextRetry.UnixMilli(), first: 100 * pages.Floor(c.NextRetry.UnixMilli())})
		}
		return both, nil
	case Dead:
		if c.Dead > 0 {
			return []queue{{slot: slot, key: k.Dead, low: lowest, high: highest, down: true, head: -c.Died[1].UnixMilli(), first: pages.Ceiling(c.Died[1].UnixMilli())}}, nil
		}
	default:
		return nil, &message.InvalidError{Field: "state", Value: strconv.Quote(string(state)), Limit: "waiting, in-flight, retrying or dead"}
	}
	return nil, nil
}
