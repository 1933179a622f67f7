package protocol_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// Requests that arrive twice: a duplicate of every request, at every later
// moment of a history in which everything happens.

func TestLateDuplicates(t *testing.T) {
	onEachServer(t, lateTrials)
}

var lateTrials = []trial{
	{name: "late duplicates", run: func(w *world) {
		for _, k := range kinds {
			for _, lease := range []time.Duration{0, 3 * time.Second} {
				lateDuplicates(w, k, lease)
			}
		}
	}},
	{name: "a finish that Redis forgot", run: func(w *world) {
		// A failover forgets the turn that reported a failure, after which the worker
		// held nothing. Its next turn is no finish: the batch is told again.
		for _, k := range kinds {
			w.clean(k)
			w.put("m")
			a := w.took(w.as("a", 0), "m")
			before := w.slot()
			w.turn(w.as("a", a.Fence, fail("m", time.Hour)), protocol.Empty)
			w.restore(before)
			idle := func(t *protocol.Turn) { t.HoldsNothing = true }
			again := w.took(with(w.as("a", a.Fence), idle), "m")
			w.must(again.Fence == a.Fence && again.Attempt == 1, "%+v", again)
			again = w.took(with(leaving(w.as("a", a.Fence)), idle), "m") // nor is it, when the worker leaves
			w.must(again.Fence == a.Fence, "%+v", again)
			w.turn(w.as("a", a.Fence), protocol.Empty)
			w.turn(with(w.as("a", a.Fence), idle), protocol.Empty)
			w.must(len(w.slot().prepare) == 0, "%v", w.slot())
		}
	}},
	{name: "a late duplicate after leaving takes nothing", run: func(w *world) {
		for _, empty := range []bool{true, false} {
			w.clean(rangeMerge)
			number := int64(0)
			if !empty {
				w.put("x")
				number = w.took(w.as("a", 0), "x").Fence
			}
			late := w.as("a", number)
			w.turn(late, protocol.Empty)
			w.tells(protocol.Left, leaving(late))
			w.put("m")
			before := w.slot()
			w.tells(protocol.Number, late)
			before.same(w.slot())
		}
	}},
}

// moment is one request of the history: a turn, or a touch by a.
type moment struct {
	what  string
	turn  *protocol.Turn
	touch int64 // the number
}

func lateDuplicates(w *world, k kind, lease time.Duration) {
	w.Helper()
	w.clean(k)
	w.lease = lease
	overdue := int64(0)
	gone := "b"
	if lease > 0 {
		overdue, gone = lease.Milliseconds()+1, ""
	}
	if k == priorityKind {
		w.do("zadd", w.k.Store, 54, "x1", 53, "x2", 52, "x3", 51, "x4", 50, "x5")
	} else {
		w.do("zadd", w.k.Store, 1001, "x1", 1002, "x2", 1003, "x3", 1004, "x4", 1005, "x5")
	}

	var past []moment
	duplicates := func(m moment) {
		past = append(past, m)
		present := w.slot()
		for _, p := range past {
			w.duplicate(p, fmt.Sprintf("%v, lease %v: %q again after %q", k, lease, p.what, m.what))
			w.restore(present)
		}
	}
	turn := func(what string, later int64, t *protocol.Turn, code protocol.Code) int64 {
		w.later(later)
		number := w.tells(code, t)
		duplicates(moment{what: what, turn: t})
		return number
	}
	n := turn("a takes x1", 0, asking(1, w.as("a", 0)), protocol.Batch)
	w.later(500)
	held, err := w.s.Touch(ctx, w.k, "a", n)
	w.must(held && err == nil, "touch: %v, %v", held, err)
	duplicates(moment{what: "a touches", touch: n})
	n = turn("a fails x1, takes x2", 10, asking(1, w.as("a", n, fail("x1", time.Second))), protocol.Batch)
	n = turn("a finishes x2, takes x3", 10, asking(1, w.as("a", n)), protocol.Batch)
	n = turn("a buries x3, takes x4", 10, asking(1, w.as("a", n, bury("x3"))), protocol.Batch)
	turn("a leaves, hands x4 back", 10, leaving(w.as("a", n, giveBack("x4", 0))), protocol.Left)
	n = turn("b asks for the number", 10, w.as("b", 0), protocol.Number)
	turn("b takes x5", 10, asking(1, w.as("b", n)), protocol.Batch)
	turn("a comes back", 10, w.as("a", 0), protocol.Busy)
	n = turn("c takes over from b", overdue+10, knowing(gone, w.as("c", 0)), protocol.Number)
	n = turn("c takes", 2000, asking(1, w.as("c", n)), protocol.Batch)
	n = turn("c finishes and takes", 10, asking(1, w.as("c", n)), protocol.Batch)
	n = turn("c finishes and takes the last", 10, w.as("c", n), protocol.Batch)
	n = turn("c finishes and looks", 10, w.as("c", n), protocol.Empty)
	turn("c leaves", 10, leaving(w.as("c", n)), protocol.Left)
	n = turn("a asks for the number", 10, w.as("a", 0), protocol.Number)
	turn("a looks", 10, w.as("a", n), protocol.Empty)
	w.put("x6")
	turn("a takes x6", 10, w.as("a", n), protocol.Batch)
}

// duplicate sends a request for the second time and checks that it changes
// nothing it must not.
func (w *world) duplicate(m moment, where string) {
	w.Helper()
	before := w.slot()
	expected := before.clone()
	if m.turn == nil {
		held, err := w.s.Touch(ctx, w.k, "a", m.touch)
		w.must(err == nil, "%s: %v", where, err)
		expected.touch("a", m.touch, w.now, held)
	} else {
		a, err := w.s.Turn(ctx, m.turn)
		w.must(err == nil, "%s: %v", where, err)
		expected.turn(m.turn, w.now, a)
	}
	after := w.slot()
	expected.same(after)

	// Whatever the scripts should do: no content is finished, moved to the dead,
	// or spends an attempt by a duplicate. A worker that has not left may be
	// given what it asks for, and is told it again.
	for x := range before.store {
		_, here := whereIs(after, x)
		w.must(here, "%s: %s is gone", where, x)
	}
	for x, mark := range before.prepare {
		w.must(after.prepare[x] == mark, "%s: %s is not in flight any more: %+v", where, x, after)
	}
	for x, score := range before.retry {
		left := score%100 - 1
		w.must(after.retry[x] == score || after.prepare[x]%1000 == left, "%s: the retry of %s is gone", where, x)
	}
	w.must(maps.Equal(before.dead, after.dead) && maps.Equal(before.why, after.why), "%s: dead %v, why %q", where, after.dead, after.why)
	if len(before.prepare) == 0 && len(after.prepare) > 0 {
		w.must(m.turn.Worker == after.holder && m.turn.Fence == before.number, "%s: %s has taken", where, after.holder)
	}
}
