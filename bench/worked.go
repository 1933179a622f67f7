package main

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// worked notes what became of the messages of a plan. The times can be read when no handler
// runs any more.
type worked struct {
	workPlan
	*identities
	begin          time.Time
	tried          []atomic.Bool
	started, ended []time.Duration // the first handler of each message, after the begin
	retried        []time.Duration // when the second one began
	busy           []atomic.Bool   // entities
	overlaps       atomic.Int64    // handlers that began while another of the entity ran
	by             []atomic.Int64  // messages of each worker
}

func newWorked(p workPlan, begin time.Time, workers int) *worked {
	n := len(p.pieces)
	return &worked{
		workPlan: p, identities: newIdentities(n), begin: begin, tried: make([]atomic.Bool, n), started: make([]time.Duration, n),
		ended: make([]time.Duration, n), retried: make([]time.Duration, n), busy: make([]atomic.Bool, p.entities()), by: make([]atomic.Int64, workers),
	}
}

var errPlanned = errors.New("this one was planned to fail")

// handle is the handler: it sleeps for as long as the plan says.
func (w *worked) handle(worker int, content string) error {
	now := time.Since(w.begin)
	i := w.number(numbered(content))
	if i < 0 {
		return nil
	}
	one := w.pieces[i]
	if w.busy[one.entity].Swap(true) {
		w.overlaps.Add(1)
	}
	again := w.tried[i].Swap(true)
	if again {
		w.retried[i] = now
	} else {
		w.started[i] = now
	}
	if one.takes > 0 {
		time.Sleep(one.takes)
	}
	if !again {
		w.ended[i] = time.Since(w.begin)
	}
	w.busy[one.entity].Store(false)
	w.by[worker].Add(1)
	if one.fails && !again {
		return errPlanned
	}
	w.handled(numbered(content))
	return nil
}

// check fails unless every message came exactly once or is still held, and none of an entity
// while another ran.
func (w *worked) check(held int) error {
	if n := w.overlaps.Load(); n > 0 {
		return fmt.Errorf("twice at once: %d handlers began while another of their entity ran", n)
	}
	return w.checkRest(held)
}

// since is how long after its time a message was begun. One that was not begun has waited until
// the end, at least.
func (w *worked) since(i int, end time.Duration) time.Duration {
	if !w.tried[i].Load() {
		return end - w.pieces[i].at
	}
	return w.started[i] - w.pieces[i].at
}

// waits are those of the messages that count, sorted, without the plan's first tenth.
func (w *worked) waits(end time.Duration, counts func(i int) bool) (all latencies) {
	for i, one := range w.pieces {
		if one.at >= w.warm() && (counts == nil || counts(i)) {
			all = append(all, w.since(i, end))
		}
	}
	slices.Sort(all)
	return all
}

// free says of each message whether no other one of its entity waited or ran when it was to be sent.
func (w *worked) free() []bool {
	all, over := make([]bool, len(w.pieces)), make([]time.Duration, w.entities())
	for i, one := range w.pieces {
		all[i] = over[one.entity] >= 0 && over[one.entity] <= one.at
		if over[one.entity] >= 0 {
			over[one.entity] = max(over[one.entity], w.ended[i])
		}
		if !w.has(i) {
			over[one.entity] = -1 // it has one that waits, from now on
		}
	}
	return all
}

// retries are how late each retry began, which was to be so long after the end of the first handler.
// One that was not begun is late until the end, at least, if its time had come.
func (w *worked) retries(backoff, end time.Duration) (all latencies) {
	for i, one := range w.pieces {
		switch due := w.ended[i] + backoff; {
		case !one.fails || w.ended[i] == 0:
		case w.retried[i] > 0:
			all = append(all, w.retried[i]-due)
		case due < end:
			all = append(all, end-due)
		}
	}
	slices.Sort(all)
	return all
}

// last is when the last handler of all ended.
func (w *worked) last() time.Duration { return slices.Max(w.ended) }

// idle reports whether a worker got less than half of its part.
func (w *worked) idle() bool {
	for i := range w.by {
		if 2*len(w.by)*int(w.by[i].Load()) < len(w.pieces) {
			return true
		}
	}
	return false
}
