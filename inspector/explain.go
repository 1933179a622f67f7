package inspector

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/who"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/hash"
	"github.com/slotmq/go-rmq/message"
)

// Explain returns, for each slot that has the message, where it is there and what it waits
// for. If it is nowhere, there is nothing to return. Without a basis it looks in the slot of
// the content, and if it is not there, in all slots, so you need not know the basis. With a
// [PartialError] it may also be where Explain could not look.
func (i *Inspector) Explain(ctx context.Context, topic, content, basis string) ([]Explanation, error) {
	t, err := i.w.About(ctx, "explain in topic "+topic, topic)
	if err != nil {
		return nil, err
	}
	failed := i.w.Failing()
	found, err := lookUp(ctx, i, t, content, basis)
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, failed.Err()
	}
	shares, err := i.w.Shares(ctx, t)
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	which := make([]int, len(found))
	for n, f := range found {
		which[n] = f.slot
	}
	shares.Probing, err = i.w.ProbingIn(ctx, t, shares, which)
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	unique, err := uniqueIn(ctx, i, t, content, which)
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	running, err := i.w.Running(ctx, []Topic{t})
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	all := make([]Explanation, len(found))
	for n, f := range found {
		all[n] = explanation(t, content, f)
		runs := who.RunningAt(running[t.Name], f.slot, f.Worker, f.Fence)
		if flight := all[n].Flight; flight != nil && runs != nil {
			flight.Running, flight.Runs = runs, runs.Handles(content)
		}
		if until := unique[f.slot]; until.After(f.Now) {
			all[n].Unique = until
		}
		all[n].WaitsFor = waitsFor(&all[n], &f.Found, shares, runs)
	}
	return all, failed.Err()
}

// explanation is what the script has found, without what it waits for.
func explanation(t Topic, content string, f place) Explanation {
	e := Explanation{Topic: t, Content: content, Slot: f.slot, Now: f.Now, Failure: failure(f.Why), PutBack: putBack(f.Why), Note: noteOf(f.Note)}
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
		if e.Retry.Attempt == 1 && f.Why != nil {
			e.Retry.Priority = f.Why.Priority
		}
	}
	if !f.Died.IsZero() {
		e.Dead = &Entry{Content: content, Slot: f.slot, State: Dead, Died: f.Died}
	}
	return e
}

// Unique returns until when a message that is sent as a unique one is a duplicate, for each slot that
// says so, whatever has become of the one before: also if it was handled. Without a basis it looks in all
// slots. What is over, by the clock of Redis, may be among the answers, or gone already.
func (i *Inspector) Unique(ctx context.Context, topic, content, basis string) (until map[int]time.Time, err error) {
	t, err := i.w.About(ctx, "look for unique messages of topic "+topic, topic)
	if err != nil {
		return nil, err
	}
	which := ask.AllSlots(t)
	if basis != "" {
		which = []int{hash.Slot(basis, t.Slots)}
	}
	return uniqueIn(ctx, i, t, content, which)
}

// uniqueIn looks in some slots.
func uniqueIn(ctx context.Context, i *Inspector, t Topic, content string, which []int) (map[int]time.Time, error) {
	times, read, err := timesIn(ctx, i, t, which, content, protocol.SlotKeys.Seen)
	until := map[int]time.Time{}
	for n, slot := range read {
		if !times[n].IsZero() {
			until[slot] = times[n]
		}
	}
	return until, err
}
