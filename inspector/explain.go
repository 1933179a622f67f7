package inspector

import (
	"cmp"
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/hash"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/luascripts/byhand"
	"github.com/slotmq/go-rmq/message"
)

// Explanation is all that is known of one content in one slot, as of one moment. It may be
// in several places: a new copy waits while an older one is in flight, waits for its
// retry, or is dead.
type Explanation struct {
	Topic   Topic
	Content string
	Slot    int
	Now     time.Time // the server's
	Waiting *Entry    // nil: no first delivery waits
	Before  int       // if Waiting: how many of the slot go before it for certain
	Beside  int       // if Waiting: how many more may, because they have the same priority
	Flight  *Flight   // nil: it is not in flight
	Retry   *Entry    // nil: it waits for no retry
	Dead    *Entry    // nil: it is not dead
	Failure *Failure  // nil: nothing is known of a failure

	// WaitsFor says in words what has to happen before it is delivered, such as "its time,
	// in 4m10s". Empty if nothing has to, or it does not wait.
	WaitsFor []string
}

// Flight is a batch in flight.
type Flight struct {
	Worker    string
	Since     time.Time // to the second
	Attempt   int
	LeaseEnds time.Time // zero: ZooKeeper judges the worker
	Batch     int       // how many contents are in it
}

// Failure is what is known of a content that failed since it was sent.
type Failure struct {
	Attempts    int
	First, Last time.Time
	Priority    int64  // it was sent with; 0: not known, or not in a priority topic
	Worker      string // that reported or lost the last delivery
	Reason      string // of the last failure
}

// Explain tells of each slot that has the content where it is there, and what it waits
// for. Nothing is found if it is nowhere. Without a basis it looks in the slot of the
// content, and if it is not there, in all, so that the basis need not be known. With a
// [PartialError] it may also be where nobody could look.
func (i *Inspector) Explain(ctx context.Context, topic, content, basis string) ([]Explanation, error) {
	if err := given(ctx, "explain in topic "+topic); err != nil {
		return nil, err
	}
	t, err := i.Topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	failed := failures{i: i}
	found, err := i.lookUp(ctx, t, content, basis)
	if err := failed.merge(err); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, failed.err()
	}
	who, err := i.shares(ctx, t)
	if err := failed.merge(err); err != nil {
		return nil, err
	}
	all := make([]Explanation, len(found))
	for n, f := range found {
		all[n] = explanation(t, content, f)
		all[n].WaitsFor = waitsFor(&all[n], &f.Found, who)
	}
	return all, failed.err()
}

// place is a content in a slot that has it.
type place struct {
	byhand.Found
	slot int
}

// lookUp finds the slots that have a content: that of the basis, or else that of the content,
// and if it has nothing, all of them.
func (i *Inspector) lookUp(ctx context.Context, t Topic, content, basis string) ([]place, error) {
	there, err := i.lookIn(ctx, t, content, []int{hash.Slot(cmp.Or(basis, content), t.Slots)})
	if (&failures{}).merge(err) != nil || len(there) > 0 || basis != "" {
		return there, err
	}
	return i.lookIn(ctx, t, content, allSlots(t))
}

func (i *Inspector) lookIn(ctx context.Context, t Topic, content string, which []int) ([]place, error) {
	priority := !t.Kind.Timed()
	found, which, err := ofSlots(ctx, i, t, which, func(k luascripts.SlotKeys) *redis.StringSliceCmd {
		return byhand.FindCmd(ctx, k, priority, content)
	}, byhand.FindAnswer)
	var there []place
	for n, f := range found {
		if !f.Nowhere() {
			there = append(there, place{f, which[n]})
		}
	}
	return there, err
}

// explanation says in words of this package what was found.
func explanation(t Topic, content string, f place) Explanation {
	e := Explanation{Topic: t, Content: content, Slot: f.slot, Now: f.Now, Failure: failure(f.Why)}
	if f.Stored > message.MaxRetries {
		waiting := entryOf(t, f.slot, Waiting, content, f.Stored)
		e.Waiting, e.Before, e.Beside = &waiting, f.Before, f.Beside
	} else if f.Stored > 0 { // in a literal topic
		failed := entryOf(t, f.slot, Retrying, content, f.Stored)
		e.Retry = &failed
	}
	if f.InFlight {
		e.Flight = &Flight{Worker: f.Worker, Since: f.Taken, Attempt: f.Attempt, Batch: f.Batch}
		if f.Lease > 0 {
			e.Flight.LeaseEnds = f.Until
		}
	}
	if !f.Retry.IsZero() {
		e.Retry = &Entry{Content: content, Slot: f.slot, State: Retrying, Due: f.Retry, Attempt: afterRetries(f.Left)}
	}
	if !f.Died.IsZero() {
		e.Dead = &Entry{Content: content, Slot: f.slot, State: Dead, Died: f.Died}
	}
	return e
}

// failure is an entry of why in words of this package; nil stays nil.
func failure(why *luascripts.Failure) *Failure {
	if why == nil {
		return nil
	}
	return &Failure{
		Attempts: why.Attempts, First: why.First, Last: why.Last,
		Priority: why.Priority, Worker: why.Worker, Reason: why.Reason,
	}
}
