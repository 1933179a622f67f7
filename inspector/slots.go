package inspector

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/script"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/luascripts/byhand"
	"github.com/slotmq/go-rmq/message"
)

// Counts is how many messages are where.
type Counts struct {
	Waiting  int // first deliveries, due or not
	Due      int // of these, and of Retrying, those that could be handled now
	InFlight int
	Retrying int // failed, and waiting for the next attempt
	Dead     int
}

// Slot is one slot as of one moment.
type Slot struct {
	Counts
	Index     int
	Overdue   time.Duration // how long the oldest due one has been due; 0: none is, or it is not known, as of priorities
	Next      time.Time     // when the next one is due, or was; zero: none waits, or only priorities
	Priority  int64         // the highest that waits; 0: none
	Holder    string        // who has the batch in flight; empty: none is in flight
	Since     time.Time     // when it was taken, to the second
	Attempt   int           // of it
	LeaseEnds time.Time     // of the holder; zero: ZooKeeper judges it
	Paused    time.Time     // since when; zero: it is not paused
	Worker    string        // whom the slot is assigned to; empty: nobody, or it is not known
	Unseen    bool          // it is not known, as with Stats.Workers
}

// Slots are those of a topic, by index. Each is a picture of one moment, all of them
// together are not. With a [PartialError] they are those that could be looked at.
func (i *Inspector) Slots(ctx context.Context, topic string) ([]Slot, error) {
	if err := given(ctx, "look at the slots of topic "+topic); err != nil {
		return nil, err
	}
	t, err := i.Topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	failed := failures{i: i}
	seen, err := i.look(ctx, t)
	if err := failed.merge(err); err != nil {
		return nil, err
	}
	all := make([]Slot, len(seen.slots))
	for n, slot := range seen.slots {
		all[n] = counted(t, slot, &seen.counts[n])
		all[n].Worker, all[n].Unseen = seen.owner(slot), seen.workers < 0
	}
	return all, failed.err()
}

// seen is what the slots of a topic have, and who works at them.
type seen struct {
	slots  []int // that could be looked at
	counts []byhand.Counts
	shares
}

// look looks at all slots of a topic. A [PartialError] comes with those that it could look at.
func (i *Inspector) look(ctx context.Context, t Topic) (s seen, err error) {
	failed := failures{i: i}
	s.counts, s.slots, err = i.counts(ctx, t, allSlots(t))
	if err := failed.merge(err); err != nil {
		return s, err
	}
	s.shares, err = i.shares(ctx, t)
	if err := failed.merge(err); err != nil {
		return s, err
	}
	return s, failed.err()
}

// counted says in words of this package what was counted.
func counted(t Topic, index int, c *byhand.Counts) Slot {
	s := Slot{
		Index:  index,
		Counts: Counts{Waiting: c.Stored - c.Failed, Due: c.Due + c.RetryDue, InFlight: c.InFlight, Retrying: c.Retrying + c.Failed, Dead: c.Dead},
		Next:   c.NextRetry, Paused: c.Paused,
	}
	switch first := time.UnixMilli(c.Next); {
	case c.Next <= message.MaxRetries: // none, or failed ones only
	case !t.Kind.Timed():
		s.Priority = c.Next
	case s.Next.IsZero() || first.Before(s.Next):
		s.Next = first
	}
	if !s.Next.IsZero() {
		s.Overdue = max(0, c.Now.Sub(s.Next))
	}
	if c.InFlight > 0 {
		s.Holder, s.Since, s.Attempt = c.Worker, c.Taken, c.Attempt
		if c.Lease > 0 {
			s.LeaseEnds = c.Until
		}
	}
	return s
}

// chosen are the slots that are meant, ascending: those given, or all of the topic.
func chosen(t Topic, which []int) ([]int, error) {
	for _, slot := range which {
		if slot < 0 || slot >= t.Slots {
			return nil, &message.InvalidError{
				Field: "slot", Value: strconv.Itoa(slot), Limit: fmt.Sprintf("from 0 to %d in topic %s", t.Slots-1, t.Name),
			}
		}
	}
	if which != nil {
		return slices.Compact(slices.Sorted(slices.Values(which))), nil
	}
	return allSlots(t), nil
}

func allSlots(t Topic) []int {
	all := make([]int, t.Slots)
	for slot := range all {
		all[slot] = slot
	}
	return all
}

// counts counts slots of a topic, as [ofSlots] asks.
func (i *Inspector) counts(ctx context.Context, t Topic, which []int) (counts []byhand.Counts, read []int, err error) {
	priority := !t.Kind.Timed()
	return ofSlots(ctx, i, t, which, func(k luascripts.SlotKeys) *redis.StringSliceCmd {
		return byhand.CountCmd(ctx, k, priority)
	}, byhand.CountAnswer)
}

// perPipeline is how many calls go out at once.
const perPipeline = 100

// ofSlots asks one question of each slot, in pipelines. The answers are in the order of the
// slots, which it returns, too: with a [PartialError] they are those that could be asked.
func ofSlots[C redis.Cmder, A any](
	ctx context.Context, i *Inspector, t Topic, which []int,
	question func(luascripts.SlotKeys) C, answer func(luascripts.SlotKeys, C) (A, error),
) (answers []A, read []int, err error) {
	failed := failures{i: i}
	for some := range slices.Chunk(which, perPipeline) {
		keys, cmds := make([]luascripts.SlotKeys, len(some)), make([]C, len(some))
		stores := make([]string, len(some))
		for n, slot := range some {
			keys[n] = i.keys(t, slot)
			stores[n] = keys[n].Store
		}
		var sent []redis.Cmder
		silent := i.silent(ctx, stores)
		for n, k := range keys {
			if silent[n] == nil {
				cmds[n] = question(k)
				sent = append(sent, cmds[n])
			}
		}
		script.Exec(ctx, i.rdb, sent...)
		for n, slot := range some {
			var a A
			err := silent[n]
			if err == nil {
				a, err = answer(keys[n], cmds[n])
			}
			if err == nil {
				answers, read = append(answers, a), append(read, slot)
			} else if err := failed.add(ctx, t.Name, slot, stores[n], i.explain(err)); err != nil {
				return nil, nil, err
			}
		}
	}
	return answers, read, failed.err()
}
