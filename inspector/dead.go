package inspector

import (
	"context"
	"fmt"
	"iter"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/pages"
	"github.com/slotmq/go-rmq/inspector/internal/steps"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/hash"
	"github.com/slotmq/go-rmq/internal/protocol/score"
)

// DeadMessages are those that were given up on: see [Inspector.Dead].
type DeadMessages struct{ i *Inspector }

// Dead is about dead messages.
func (i *Inspector) Dead() DeadMessages { return DeadMessages{i} }

// List goes through the dead messages of all slots in the order of their deaths. It reads
// page by page while messages die and are requeued: what stays dead is met exactly once, and
// what dies after the beginning is not met. An error is the last it yields: a
// [PartialError], if the dead of some slots could not be read, and those of the others were.
func (d DeadMessages) List(ctx context.Context, topic string, q DeadQuery) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		t, err := d.i.w.About(ctx, "list dead messages of topic "+topic, topic)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for e, err := range d.each(ctx, t, q, true) {
			if err != nil {
				err = fmt.Errorf("list dead messages of topic %s: %w", topic, err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// each goes through the dead messages that the query selects. With explain, they have their
// Failure.
func (d DeadMessages) each(ctx context.Context, t Topic, q DeadQuery, explain bool) iter.Seq2[Entry, error] {
	explain = explain || q.byFailure()
	return func(yield func(Entry, error) bool) {
		r := deadRead{d: d, t: t, q: q, explain: explain, failed: d.i.w.Failing(), yield: yield}
		walks, err := d.walks(ctx, t, q)
		if err := r.goOn(err); err != nil {
			yield(Entry{}, err)
			return
		}
		fail := func(w *pages.Walk, why error) error {
			if q.Complete {
				return why
			}
			return r.failed.Add(ctx, t.Name, w.Slot, w.Key, why)
		}
		on := true
		for m, err := range pages.Merge(ctx, d.i.w.Ground, walks, q.few(), fail) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			e := entryOf(t, m.In.Slot, Dead, m.Content, score.Whole(m.Score))
			if m.In.Since(m.Score) || !q.picks(e) {
				continue
			}
			if on = r.add(ctx, e); !on {
				break
			}
		}
		if on {
			r.pass(ctx)
		}
		if err := r.failed.Err(); err != nil && !r.refused {
			yield(Entry{}, err)
		}
	}
}

// deadRead is one reading of dead messages.
type deadRead struct {
	d       DeadMessages
	t       Topic
	q       DeadQuery
	explain bool
	failed  ask.Failures
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
	return r.failed.Merge(err)
}

// add takes one more, and passes on those so far, which are explained together, if they are enough. It reports
// whether the reading goes on.
func (r *deadRead) add(ctx context.Context, e Entry) (on bool) {
	r.some = append(r.some, e)
	r.bytes += len(e.Content)
	enough := !r.explain || len(r.some) == deadPage || r.bytes >= pages.PageBytes/2 || r.met+len(r.some) == r.q.Limit
	return !enough || r.pass(ctx)
}

func (r *deadRead) pass(ctx context.Context) (on bool) {
	if r.explain {
		if err := r.goOn(r.d.explain(ctx, r.t, r.some)); err != nil {
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

// explain adds what is known about their failures.
func (d DeadMessages) explain(ctx context.Context, t Topic, dead []Entry) error {
	var which []int
	places := map[string][]int{} // of a slot's, by the key of why
	for n, e := range dead {
		key := d.i.w.Keys(t.Name, e.Slot).Why
		if places[key] == nil {
			which = append(which, e.Slot)
		}
		places[key] = append(places[key], n)
	}
	_, _, err := ask.OfSlots(ctx, d.i.w.Ground, t, which, func(k protocol.SlotKeys) *redis.SliceCmd {
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
		return struct{}{}, ask.At(k.Why, err)
	})
	return err
}

// Show looks a dead message up. Nearly always there is one; there are several if equal
// contents died in several slots. Without a basis it looks in all slots. With a
// [PartialError] it may also be where Show could not look.
func (d DeadMessages) Show(ctx context.Context, topic, content, basis string) ([]Entry, error) {
	t, err := d.i.w.About(ctx, "look for a dead message in topic "+topic, topic)
	if err != nil {
		return nil, err
	}
	var which []int
	if basis != "" {
		which = []int{hash.Slot(basis, t.Slots)}
	}
	which, _ = ask.Chosen(t, which)
	failed := d.i.w.Failing()
	times, which, err := timesIn(ctx, d.i, t, which, content, func(k protocol.SlotKeys) string { return k.Dead })
	var dead []Entry
	for n, died := range times {
		if !died.IsZero() {
			dead = append(dead, Entry{Content: content, Slot: which[n], State: Dead, Died: died})
		}
	}
	if err = failed.Merge(err); err == nil {
		err = failed.Merge(d.explain(ctx, t, dead))
	}
	if err != nil {
		return nil, fmt.Errorf("look for a dead message in topic %s: %w", topic, err)
	}
	return dead, failed.Err()
}

// Count counts the dead messages that the query selects. With a [PartialError] they are
// those of the slots that could be read.
func (d DeadMessages) Count(ctx context.Context, topic string, q DeadQuery) (int, error) {
	t, err := d.i.w.About(ctx, "count dead messages of topic "+topic, topic)
	if err != nil {
		return 0, err
	}
	n, err := d.count(ctx, t, q)
	if err != nil {
		return n, fmt.Errorf("count dead messages of topic %s: %w", topic, err)
	}
	return n, nil
}

func (d DeadMessages) count(ctx context.Context, t Topic, q DeadQuery) (n int, err error) {
	if q.byEntry() || q.byFailure() {
		for _, err := range d.each(ctx, t, q, false) {
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
	counts, _, err := d.countBetween(ctx, t, which, bound(low), bound(high))
	for _, c := range counts {
		n += c
	}
	if q.Limit > 0 {
		n = min(n, q.Limit)
	}
	return n, err
}

// takeOut takes out the dead messages that the query selects.
func (d DeadMessages) takeOut(ctx context.Context, t Topic, q DeadQuery, rate float64, x steps.Removal) error {
	if _, err := q.slots(t); err != nil {
		return err
	}
	limit := q.Limit
	q.Limit, q.likely, q.changes, q.Complete = 0, limit, true, true
	return d.i.steps.TakeOut(ctx, t, func(yield func(steps.Dead, error) bool) {
		for e, err := range d.each(ctx, t, q, false) {
			if !yield(steps.Dead{Slot: e.Slot, DeadItem: byhand.DeadItem{Content: e.Content, Died: e.Died}}, err) {
				return
			}
		}
	}, limit, rate, x)
}
