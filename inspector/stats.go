package inspector

import (
	"context"
	"time"
)

// Stats is what a topic holds.
type Stats struct {
	Counts
	Topic   Topic
	Overdue time.Duration // of the slot where it is longest
	Read    int           // of its slots: fewer than all come with a [PartialError]
	Paused  int           // slots
	Workers int           // that share the topic; -1: not known, because ZooKeeper has them and Config.Slots is nil or the topic is Foreign, or whoever has them does not answer
}

// Stats adds up the slots of a topic. With a [PartialError] it is of those that could be
// counted.
func (i *Inspector) Stats(ctx context.Context, topic string) (Stats, error) {
	if err := given(ctx, "count topic "+topic); err != nil {
		return Stats{}, err
	}
	t, err := i.Topic(ctx, topic)
	if err != nil {
		return Stats{}, err
	}
	failed := failures{i: i}
	seen, err := i.look(ctx, t)
	if err := failed.merge(err); err != nil {
		return Stats{}, err
	}
	return sum(t, seen), failed.err()
}

// sum adds up the slots of a topic.
func sum(t Topic, seen seen) Stats {
	sum := Stats{Topic: t, Read: len(seen.slots), Workers: seen.workers}
	for n, slot := range seen.slots {
		sum.add(counted(t, slot, &seen.counts[n]))
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
