package inspector

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/steps"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/message"
)

// PurgeQuery says what to delete from a topic. The zero value means all but what is in flight.
type PurgeQuery struct {
	Slots  []int   // nil: all
	States []State // of Waiting, Retrying and Dead; nil: all three
}

// PurgeOptions of [Inspector.Purge].
type PurgeOptions struct {
	// Rate is how many messages a second. Defaults to 0: as fast as it goes.
	Rate float64

	// Progress is called after each step with what is deleted so far. Defaults to nil: no calls.
	Progress func(Purged)
}

// Purged counts what a purge deletes, by the state it was in.
type Purged struct {
	Waiting  int `json:"waiting"`
	Retrying int `json:"retrying"`
	Dead     int `json:"dead"`
	Lost     int `json:"lost,omitempty"` // so many more may be deleted, as an answer is lost
}

// Total is how many are deleted for certain.
func (p Purged) Total() int { return p.Waiting + p.Retrying + p.Dead }

// PurgeCount counts what Purge would delete now.
func (i *Inspector) PurgeCount(ctx context.Context, topic string, q PurgeQuery) (Purged, error) {
	var n Purged
	t, err := i.w.About(ctx, "count what a purge of topic "+topic+" would delete", topic)
	if err != nil {
		return n, err
	}
	_, counts, err := toPurge(ctx, i, t, q)
	if err != nil {
		return n, fmt.Errorf("count what a purge of topic %s would delete: %w", topic, err)
	}
	for _, c := range counts {
		n.Waiting += c[byhand.PurgeWaiting]
		n.Retrying += c[byhand.PurgeFailed] + c[byhand.PurgeRetry]
	}
	if q.means(Dead) {
		n.Dead, err = i.Dead().count(ctx, t, DeadQuery{Slots: q.Slots})
	}
	if err != nil {
		return n, fmt.Errorf("count what a purge of topic %s would delete: %w", topic, err)
	}
	return n, nil
}

// Purge deletes what waits for its first delivery, what waits for its retry, and what is dead, with all that is kept of these
// messages. What is in flight goes on. Workers and senders need not stop, but of what waits no more is deleted in a
// slot than there was at the beginning: what is sent or fails meanwhile may be among it, or stay. What dies meanwhile
// stays. A message that was sent as a unique one may be sent again at once. Plans stay.
//
// That holds when an answer is lost, too: as many as the step may have deleted count as Lost, and no others are deleted in
// their place, so some may stay. Config.Journal does not get what such a step has deleted as cancelled: no one knows which
// they were, and a restore may bring them back.
//
// It goes in steps of 500 messages and about 1 MiB at most, each of which is one call of a script. When ctx ends it stops
// between two steps; the error wraps that of ctx. What was deleted stays so; call it again to go on with the rest.
func (i *Inspector) Purge(ctx context.Context, topic string, q PurgeQuery, o PurgeOptions) (Purged, error) {
	var done Purged
	t, err := i.w.About(ctx, "purge topic "+topic, topic)
	if err != nil {
		return done, err
	}
	if r := o.Rate; r != 0 && !limits.Rate(r) {
		err = &message.InvalidError{Field: "Rate", Value: strconv.FormatFloat(r, 'g', -1, 64), Limit: "from 0.001 to 1000000 a second, or 0 for as fast as it goes"}
	}
	tell := func() {
		if o.Progress != nil {
			o.Progress(done)
		}
	}
	if err == nil {
		err = purgeWaiting(ctx, i, t, q, o.Rate, &done, tell)
	}
	if err == nil && q.means(Dead) {
		x := i.steps.Deletion(ctx, t, &done.Dead, &done.Lost)
		x.After = func([]*steps.InSlot) { tell() }
		err = i.Dead().takeOut(ctx, t, DeadQuery{Slots: q.Slots}, o.Rate, x)
	}
	if err != nil {
		return done, fmt.Errorf("purge topic %s: %w", topic, err)
	}
	return done, nil
}

// purgeWaiting deletes what waits, slot by slot.
func purgeWaiting(ctx context.Context, i *Inspector, t Topic, q PurgeQuery, rate float64, done *Purged, tell func()) error {
	which, counts, err := toPurge(ctx, i, t, q)
	if err != nil {
		return err
	}
	pace := wait.Pace{Rate: rate}
	for n, slot := range which {
		for _, part := range []byhand.PurgePart{byhand.PurgeWaiting, byhand.PurgeFailed, byhand.PurgeRetry} {
			removed := &done.Retrying
			if part == byhand.PurgeWaiting {
				removed = &done.Waiting
			}
			s := &steps.Sweep{Slot: slot, Part: part, Left: counts[n][part], Removed: removed, Lost: &done.Lost}
			for s.Left > 0 {
				if err := i.steps.SweepStep(ctx, t, s, &pace); err != nil {
					return err
				}
				tell()
			}
		}
	}
	return nil
}

// toPurge are the slots of which something that waits is to go, and how many of which part.
func toPurge(ctx context.Context, i *Inspector, t Topic, q PurgeQuery) (which []int, parts []map[byhand.PurgePart]int, err error) {
	for _, s := range q.States {
		if !slices.Contains([]State{Waiting, Retrying, Dead}, s) {
			return nil, nil, &message.InvalidError{Field: "States", Value: strconv.Quote(string(s)), Limit: "of waiting, retrying and dead: what is in flight cannot be purged"}
		}
	}
	if which, err = ask.Chosen(t, q.Slots); err != nil {
		return nil, nil, err
	}
	if !q.means(Waiting) && !q.means(Retrying) {
		return nil, nil, nil
	}
	counts, which, err := i.w.Counts(ctx, t, which)
	for _, c := range counts {
		part := map[byhand.PurgePart]int{}
		if q.means(Waiting) {
			part[byhand.PurgeWaiting] = c.Stored - c.Failed
		}
		if q.means(Retrying) {
			part[byhand.PurgeFailed], part[byhand.PurgeRetry] = c.Failed, c.Retrying
		}
		parts = append(parts, part)
	}
	return which, parts, err
}

func (q PurgeQuery) means(s State) bool { return q.States == nil || slices.Contains(q.States, s) }
