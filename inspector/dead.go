package inspector

import (
	"context"
	"fmt"
	"iter"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/hash"
	"github.com/slotmq/go-rmq/internal/protocol/score"
)

// Dead goes through the dead messages of all slots in the order of their deaths. It reads
// page by page while messages die and are requeued: what stays dead is met exactly once, and
// what dies after the beginning is not met. An error is the last it yields: a
// [PartialError], if the dead of some slots could not be read, and those of the others were.
func (i *Inspector) Dead(ctx context.Context, topic string, q DeadQuery) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := given(ctx, "list dead messages of topic "+topic); err != nil {
			yield(Entry{}, err)
			return
		}
		t, err := i.Topic(ctx, topic)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for e, err := range i.dead(ctx, t, q, true) {
			if err != nil {
				err = fmt.Errorf("list dead messages of topic %s: %w", topic, err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// dead goes through the dead messages that the query selects. With explain, they have their
// Failure.
func (i *Inspector) dead(ctx context.Context, t Topic, q DeadQuery, explain bool) iter.Seq2[Entry, error] {
	explain = explain || q.byFailure()
	return func(yield func(Entry, error) bool) {
		r := deadRead{i: i, t: t, q: q, explain: explain, failed: failures{i: i}, yield: yield}
		walks, err := i.walks(ctx, t, q)
		if err := r.goOn(err); err != nil {
			yield(Entry{}, err)
			return
		}
		fail := func(w *walk, why error) error {
			if q.Complete {
				return why
			}
			return r.failed.add(ctx, t.Name, w.slot, w.key, why)
		}
		on := true
		for m, err := range i.merge(ctx, walks, q.few(), fail) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			e := entryOf(t, m.in.slot, Dead, m.content, score.Whole(m.score))
			if m.in.since(m.score) || !q.picks(e) {
				continue
			}
			if on = r.add(ctx, e); !on {
				break
			}
		}
		if on {
			r.pass(ctx)
		}
		if err := r.failed.err(); err != nil && !r.refused {
			yield(Entry{}, err)
		}
	}
}

// deadRead is one reading of dead messages.
type deadRead struct {
	i       *Inspector
	t       Topic
	q       DeadQuery
	explain bool
	failed  failures
	yield   func(Entry, error) bool

	met     int  // that the query selects
	refused bool // no more is wanted, or it cannot go on
	some    []Entry
	bytes   int // of their contents
}

// goOn returns an error unless it is about a part, and a part is not too much.
func (r *deadRead) goOn(err error) error {
	if r.q.Complete {
		return err
	}
	return r.failed.merge(err)
}

// add takes one more, and passes on those so far, which are explained together, if they are enough. It reports
// whether the reading goes on.
func (r *deadRead) add(ctx context.Context, e Entry) (on bool) {
	r.some = append(r.some, e)
	r.bytes += len(e.Content)
	enough := !r.explain || len(r.some) == deadPage || r.bytes >= pageBytes/2 || r.met+len(r.some) == r.q.Limit
	return !enough || r.pass(ctx)
}

func (r *deadRead) pass(ctx context.Context) (on bool) {
	if r.explain {
		if err := r.goOn(r.i.explainDead(ctx, r.t, r.some)); err != nil {
			r.refused = true
			r.yield(Entry{}, err)
			return false
		}
	}
	for _, e := range r.some {
		if r.q.fits(e.Failure) {
			r.met++
			if r.refused = !r.yield(e, nil); r.refused || r.met == r.q.Limit {
				return false
			}
		}
	}
	clear(r.some) // of contents that may be large
	r.some, r.bytes = r.some[:0], 0
	return true
}

// explainDead adds what is known about their failures.
func (i *Inspector) explainDead(ctx context.Context, t Topic, dead []Entry) error {
	var which []int
	places := map[string][]int{} // of a slot's, by the key of why
	for n, e := range dead {
		key := i.keys(t.Name, e.Slot).Why
		if places[key] == nil {
			which = append(which, e.Slot)
		}
		places[key] = append(places[key], n)
	}
	_, _, err := ofSlots(ctx, i, t, which, func(k protocol.SlotKeys) *redis.SliceCmd {
		args := []any{"hmget", k.Why}
		for _, n := range places[k.Why] {
			args = append(args, dead[n].Content)
		}
		return redis.NewSliceCmd(ctx, args...)
	}, func(k protocol.SlotKeys, cmd *redis.SliceCmd) (struct{}, error) {
		entries, err := cmd.Result()
		for m, entry := range entries {
			text, _ := entry.(string)
			if why, ok := protocol.ParseFailure(text); ok {
				dead[places[k.Why][m]].Failure = failure(&why)
			}
		}
		return struct{}{}, at(k.Why, err)
	})
	return err
}

// DeadShow looks a dead message up. Nearly always there is one; there are several if equal
// contents died in several slots. Without a basis it looks in all slots. With a
// [PartialError] it may also be where DeadShow could not look.
func (i *Inspector) DeadShow(ctx context.Context, topic, content, basis string) ([]Entry, error) {
	if err := given(ctx, "look for a dead message in topic "+topic); err != nil {
		return nil, err
	}
	t, err := i.Topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	var which []int
	if basis != "" {
		which = []int{hash.Slot(basis, t.Slots)}
	}
	which, _ = chosen(t, which)
	failed := failures{i: i}
	times, which, err := timesIn(ctx, i, t, which, content, func(k protocol.SlotKeys) string { return k.Dead })
	var dead []Entry
	for n, died := range times {
		if !died.IsZero() {
			dead = append(dead, Entry{Content: content, Slot: which[n], State: Dead, Died: died})
		}
	}
	if err = failed.merge(err); err == nil {
		err = failed.merge(i.explainDead(ctx, t, dead))
	}
	if err != nil {
		return nil, fmt.Errorf("look for a dead message in topic %s: %w", topic, err)
	}
	return dead, failed.err()
}

// DeadCount counts the dead messages that the query selects. With a [PartialError] they are
// those of the slots that could be read.
func (i *Inspector) DeadCount(ctx context.Context, topic string, q DeadQuery) (int, error) {
	if err := given(ctx, "count dead messages of topic "+topic); err != nil {
		return 0, err
	}
	t, err := i.Topic(ctx, topic)
	if err != nil {
		return 0, err
	}
	n, err := i.deadCount(ctx, t, q)
	if err != nil {
		return n, fmt.Errorf("count dead messages of topic %s: %w", topic, err)
	}
	return n, nil
}

func (i *Inspector) deadCount(ctx context.Context, t Topic, q DeadQuery) (n int, err error) {
	if q.byEntry() || q.byFailure() {
		for _, err := range i.dead(ctx, t, q, false) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	which, err := q.slots(t)
	if err != nil {
		return 0, err
	}
	low, high := q.times()
	counts, _, err := i.countDead(ctx, t, which, bound(low), bound(high))
	for _, c := range counts {
		n += c
	}
	if q.Limit > 0 {
		n = min(n, q.Limit)
	}
	return n, err
}
