package inspector

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/who"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
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
	Worker    string        // that the slot is assigned to; empty: none, or it is not known
	Unseen    bool          // it is not known, as with Stats.Workers
}

// Slots returns the slots of a topic, by index. Each is a picture of one moment, all of them
// together are not. With a [PartialError] they are those that could be looked at.
func (i *Inspector) Slots(ctx context.Context, topic string) ([]Slot, error) {
	t, err := i.w.About(ctx, "look at the slots of topic "+topic, topic)
	if err != nil {
		return nil, err
	}
	failed := i.w.Failing()
	seen, err := i.w.Look(ctx, t)
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	all := make([]Slot, len(seen.Slots))
	for n, slot := range seen.Slots {
		all[n] = counted(t, slot, &seen.Counts[n])
		all[n].Worker, all[n].Unseen = seen.Owner(slot), seen.Workers < 0
	}
	return all, failed.Err()
}

// counted is a slot by what the script has counted.
func counted(t Topic, index int, c *byhand.Counts) Slot {
	s := Slot{
		Index:  index,
		Counts: Counts{Waiting: c.Stored - c.Failed, Due: c.Due + c.RetryDue, InFlight: c.InFlight, Retrying: c.Retrying + c.Failed, Dead: c.Dead},
		Paused: c.Paused,
	}
	s.Next, s.Priority, s.Overdue = who.FirstOf(t, c)
	if c.InFlight > 0 {
		s.Holder, s.Since, s.Attempt = c.Worker, c.Taken, c.Attempt
		if c.Lease > 0 {
			s.LeaseEnds = c.Until
		}
	}
	return s
}

// Stats is what a topic holds.
type Stats struct {
	Counts
	Topic   Topic
	Overdue time.Duration // of the slot where it is longest
	Read    int           // of its slots: fewer than all come with a [PartialError]
	Paused  int           // slots
	Policy  Policy        // the limit that holds, see Limit
	Workers int           // that share the topic; -1: not known: ZooKeeper knows them, and Config.Slots is nil or the topic is Foreign; or the server that knows them does not answer
	Takers  int           // processes that take from the topic by package poll, such as gateways
}

// Stats adds up the slots of a topic. With a [PartialError] it is of those that could be
// counted.
func (i *Inspector) Stats(ctx context.Context, topic string) (Stats, error) {
	t, err := i.w.About(ctx, "count topic "+topic, topic)
	if err != nil {
		return Stats{}, err
	}
	failed := i.w.Failing()
	seen, err := i.w.Look(ctx, t)
	if err := failed.Merge(err); err != nil {
		return Stats{}, err
	}
	stats := sum(t, seen)
	held, err := i.w.Policy(ctx, t)
	if failed.Merge(err) != nil {
		return Stats{}, err
	}
	stats.Policy = Policy{held.Rate, held.Concurrency, held.Left}
	return stats, failed.Err()
}

// sum adds up the slots of a topic.
func sum(t Topic, seen who.Seen) Stats {
	sum := Stats{Topic: t, Read: len(seen.Slots), Workers: seen.Workers, Takers: len(seen.Takers)}
	for n, slot := range seen.Slots {
		sum.add(counted(t, slot, &seen.Counts[n]))
	}
	return sum
}

func (sum *Stats) add(s Slot) {
	sum.Waiting += s.Waiting
	sum.Due += s.Due
	sum.InFlight += s.InFlight
	sum.Retrying += s.Retrying
	sum.Dead += s.Dead
	sum.Overdue = max(sum.Overdue, s.Overdue)
	if !s.Paused.IsZero() {
		sum.Paused++
	}
}

// Merged says how many sends messages stand for.
type Merged struct {
	Messages int // that were looked at
	Sends    int // that have merged into these
}

// mergedSlots are looked at, and of each about [notesPage] notes.
const mergedSlots = 32

// Merged looks at some messages of a topic with Notes, of slots that lie evenly among all, and returns how many sends have merged
// into them. Redis keeps that of no other topic: there it is zero. Some of the messages may be over since, as notes are
// swept only now and then. With a [PartialError] it is of the slots that could be read.
func (i *Inspector) Merged(ctx context.Context, topic string) (Merged, error) {
	var m Merged
	t, err := i.w.About(ctx, "look how many sends have merged in topic "+topic, topic)
	if err != nil || !t.Notes {
		return m, err
	}
	looks := min(t.Slots, mergedSlots)
	slots := make([]int, looks)
	for n := range slots {
		slots[n] = n * t.Slots / looks
	}
	failed := i.w.Failing()
	parts, _, err := ask.OfSlots(ctx, i.w.Ground, t, slots, func(k protocol.SlotKeys) *redis.ScanCmd {
		return redis.NewScanCmd(ctx, nil, "hscan", k.Note(), 0, "count", ask.NotesPage)
	}, func(k protocol.SlotKeys, cmd *redis.ScanCmd) (Merged, error) {
		found, _, err := cmd.Result()
		return mergedIn(found), ask.At(k.Note(), err)
	})
	for _, p := range parts {
		m.Messages += p.Messages
		m.Sends += p.Sends
	}
	if err := failed.Merge(err); err != nil {
		return m, err
	}
	return m, failed.Err()
}

// mergedIn counts notes: contents, each with its note behind it.
func mergedIn(found []string) (m Merged) {
	for n := 1; n < len(found); n += 2 {
		if note, ok := protocol.ParseNote(found[n]); ok {
			m.Messages++
			m.Sends += int(note.Sends)
		}
	}
	return m
}

// Ahead returns how many messages of a topic become due before each of some spans of time is over, now being
// the clock of Redis, or the latest one of a Cluster: those that wait, and those that wait for their retry. What is due already is not among
// them, nor what has a priority and no time. With a [PartialError] they are those of the slots that could be counted.
func (i *Inspector) Ahead(ctx context.Context, topic string, within []time.Duration) ([]int, error) {
	if err := ask.Given(ctx, "count what becomes due in topic "+topic); err != nil {
		return nil, err
	}
	for _, d := range within {
		if d <= 0 {
			return nil, fmt.Errorf("count what becomes due in topic %s: %w", topic, &message.InvalidError{Field: "within", Value: d.String(), Limit: "more than 0"})
		}
	}
	t, err := i.w.Topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	now, err := cluster.Now(ctx, i.w.Redis)
	if now.IsZero() { // otherwise a part of a Cluster is away, as the counts say
		return nil, fmt.Errorf("count what becomes due in topic %s: ask Redis for its time: %w", topic, i.w.Explain(err))
	}
	failed := i.w.Failing()
	ahead := make([]int, len(within))
	for n, d := range within {
		from, to := now.UnixMilli(), now.Add(d).UnixMilli()
		if t.Kind.Timed() {
			if err := addCount(ctx, i, t, &ahead[n], func(k protocol.SlotKeys) string { return k.Store }, from, to, &failed); err != nil {
				return nil, err
			}
		}
		// A retry has its attempt behind the ms.
		retry := func(k protocol.SlotKeys) string { return k.Retry }
		if err := addCount(ctx, i, t, &ahead[n], retry, from*100+99, to*100+99, &failed); err != nil {
			return nil, err
		}
	}
	return ahead, failed.Err()
}

// addCount adds how many members of a key of each slot have a score above one and not above another.
func addCount(ctx context.Context, i *Inspector, t Topic, sum *int, key func(protocol.SlotKeys) string, above, to int64, failed *ask.Failures) error {
	counts, _, err := ask.OfSlots(ctx, i.w.Ground, t, ask.AllSlots(t), func(k protocol.SlotKeys) *redis.IntCmd {
		return redis.NewIntCmd(ctx, "zcount", key(k), "("+strconv.FormatInt(above, 10), to)
	}, func(k protocol.SlotKeys, cmd *redis.IntCmd) (int, error) {
		n, err := cmd.Result()
		return int(n), ask.At(key(k), err)
	})
	for _, n := range counts {
		*sum += n
	}
	return failed.Merge(err)
}
