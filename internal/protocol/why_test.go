package protocol_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
)

// What a person finds in `why`.

func TestWhy(t *testing.T) { onEachServer(t, whyTrials) }

var whyTrials = []trial{
	{name: "why: a record of every failure", run: whyRecords},
	{name: "why: forgotten when done", run: whyForgotten},
	{name: "why: what explains a death stays", run: whyStays},
	{name: "why: a first failure begins a new record", run: whyAnew},
	{name: "why: take-overs", run: func(w *world) {
		w.clean(priorityKind)
		w.put("m")
		w.lease = time.Second
		w.took(w.as("a", 0), "m")
		w.later(1001)
		number := w.tells(protocol.Number, w.as("b", 0))
		w.explained("m", protocol.Failure{Attempts: 1, First: w.time(), Last: w.time(), Worker: "a", Reason: "the lease of its worker ended"})
		first := w.time()
		w.later(1000)
		w.took(w.as("b", number), "m")
		w.tells(protocol.Number, knowing("b", w.as("c", 0)))
		w.explained("m", protocol.Failure{Attempts: 2, First: first, Last: w.time(), Worker: "b", Reason: "its worker died"})
	}},
	{name: "why: told with a retry", run: whyTold},
	{name: "why: cancel forgets what it removed", run: whyCancelled},
	{name: "why: reasons of any bytes", run: func(w *world) {
		for _, reason := range []string{"", " ", "two words", " 1 2 3 - x y", "a\nb\x00\xff", "日本"} {
			w.clean(rangeMerge)
			w.put("m")
			a := w.took(w.as("a", 0), "m")
			v := fail("m", time.Second)
			v.Reason = reason
			w.tells(protocol.Left, leaving(w.as("a", a.Fence, v)))
			w.explained("m", protocol.Failure{Attempts: 1, First: w.time(), Last: w.time(), Worker: "a", Reason: reason})
		}
	}},
}

// time is what the clock shows.
func (w *world) time() time.Time { return time.UnixMilli(w.now) }

// explained compares the record of a content.
func (w *world) explained(x string, want protocol.Failure) {
	w.Helper()
	entry, known := w.slot().why[x]
	got, parsed := protocol.ParseFailure(entry)
	if !known || !parsed || got != want {
		w.Fatalf("the record of %s is %q, not %+v", x, entry, want)
	}
}

func whyRecords(w *world) {
	for _, k := range kinds {
		w.clean(k)
		w.put("m")
		want := protocol.Failure{First: w.time()}
		if k == priorityKind {
			want.Priority = 50
		}
		number := int64(0)
		for n := 1; n <= 17; n++ {
			a := w.took(w.as("a", number), "m")
			v := fail("m", time.Second)
			v.Priority, v.Reason = a.Priority(0), fmt.Sprint("reason ", n)
			number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, v)))
			want.Attempts, want.Last, want.Worker, want.Reason = n, w.time(), "a", v.Reason
			w.explained("m", want) // with the first failure, and the priority of the first delivery
			w.must(n == 17 || w.slot().explains, "the flag is not set")
			w.later(1000)
		}
	}
}

func whyForgotten(w *world) {
	for _, k := range kinds {
		for _, delay := range []time.Duration{0, time.Second} {
			w.clean(k)
			w.put("m", "n", "o")
			a := w.took(w.as("a", 0), "m", "n", "o")
			// o is done; the others fail.
			number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", delay), fail("n", delay))))
			s := w.slot()
			w.must(len(s.why) == 2 && s.explains, "%v: %+v", k, s)
			w.later(1000)
			a = w.turn(w.as("a", number), protocol.Batch)
			first := a.Contents[0]
			a = w.turn(w.as("a", a.Fence), protocol.Batch) // all done
			s = w.slot()
			w.must(len(s.why) == 1 && s.why[first] == "" && s.explains, "%v: one is done: %+v", k, s)
			// The last one with something else undone, which is not found in the batch.
			w.tells(protocol.Empty, w.as("a", a.Fence, fail("x", 0)))
			s = w.slot()
			w.must(len(s.why) == 0 && !s.explains, "%v: all are done: %+v", k, s)
			n, _ := w.do("hlen", w.k.Meta).(int64)
			w.must(n == 4, "%v: meta has %d fields", k, n)
		}
	}
}

func whyStays(w *world) {
	w.clean(rangeMerge)
	w.put("m", "n")
	a := w.took(w.as("a", 0), "m", "n")
	died := protocol.Failure{Attempts: 1, First: w.time(), Last: w.time(), Worker: "a", Reason: "it cannot be read"}
	number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, bury("m"), fail("n", time.Second))))
	w.explained("m", died)
	w.put("m") // sent again, and done this time
	a = w.took(w.as("a", number), "m")
	number = w.tells(protocol.Empty, w.as("a", a.Fence))
	w.explained("m", died)
	w.later(1000)
	a = w.took(w.as("a", number), "n")
	number = w.tells(protocol.Empty, w.as("a", a.Fence))
	s := w.slot()
	w.must(len(s.why) == 1 && !s.explains, "%+v", s)

	// A failure of the new copy is the newer story.
	w.put("m")
	a = w.took(w.as("a", number), "m")
	number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", time.Second))))
	w.explained("m", protocol.Failure{Attempts: 1, First: w.time(), Last: w.time(), Worker: "a", Reason: "it failed"})
	// A hand-back is no failure.
	w.later(1000)
	before := w.slot().why["m"]
	a = w.took(w.as("a", number), "m")
	w.tells(protocol.Left, leaving(w.as("a", a.Fence, giveBack("m", 0))))
	w.must(w.slot().why["m"] == before, "a hand-back is noted: %q", w.slot().why["m"])
}

// whyAnew: a send begins a new budget, so its first failure begins a new record.
func whyAnew(w *world) {
	w.clean(priorityKind)
	w.put("m")
	a := w.took(w.as("a", 0), "m")
	v := fail("m", time.Hour)
	v.Priority = 50
	number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, v)))
	w.later(10)
	w.put("m")
	a = w.took(w.as("a", number), "m")
	w.later(10)
	w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", time.Hour))))
	w.explained("m", protocol.Failure{Attempts: 1, First: w.time(), Last: w.time(), Worker: "a", Reason: "it failed"})
}

// whyTold: a retry comes with its record, also when it is told again, and nothing
// else does.
func whyTold(w *world) {
	for _, k := range kinds {
		for _, delay := range []time.Duration{0, time.Second} {
			w.clean(k)
			w.put("m")
			a := w.took(w.as("a", 0), "m")
			number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, bury("m"))))
			w.put("m") // its record tells why another copy is dead
			v, want := fail("m", delay), protocol.Failure{Attempts: 1, Worker: "a", Reason: "out of paper"}
			if k == priorityKind {
				want.Priority = 50
			}
			a = w.untold(w.as("a", number))
			w.must(a.Priority(0) == want.Priority, "%v: priority %d", k, a.Priority(0))
			w.untold(w.as("a", 0)) // again
			v.Priority, v.Reason = want.Priority, want.Reason
			w.later(5)
			want.First, want.Last = w.time(), w.time()
			number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, v)))
			w.later(1000)
			a = w.took(w.as("a", number), "m")
			w.toldWhy(a, want)
			w.toldWhy(w.took(w.as("a", 0), "m"), want)
			number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, giveBack("m", 0)))) // not a failure
			a = w.took(w.as("a", number), "m")
			w.toldWhy(a, want)
			v.Priority, v.Reason = 0, "out of ink"
			number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, v)))
			want.Attempts, want.Last, want.Reason = 2, w.time(), v.Reason
			w.later(1000)
			a = w.took(w.as("a", number), "m")
			w.toldWhy(a, want)
			w.tells(protocol.Left, leaving(w.as("a", a.Fence, v)))
			w.later(1000)
			w.do("del", w.k.Why) // somebody did that
			w.untold(w.as("a", w.slot().number))
			w.untold(w.as("a", 0)) // again
		}
	}
}

func (w *world) toldWhy(a protocol.Answer, want protocol.Failure) {
	w.Helper()
	got, told := a.Failure()
	w.must(told && got == want, "attempt %d was told %v: %+v, not %+v", a.Attempt, told, got, want)
}

// untold takes a turn that must be answered with one content, and nothing behind it
// but its priority.
func (w *world) untold(t *protocol.Turn) protocol.Answer {
	w.Helper()
	cmd := w.s.TurnCmd(ctx, t)
	w.s.Exec(ctx, cmd)
	a, err := protocol.TurnAnswer(t, cmd)
	reply := cmd.(script.Once).Val()
	rest := reply[min(5, len(reply)):]
	_, told := a.Failure()
	w.must(err == nil && a.Code == protocol.Batch && !told, "%q: %v", reply, err)
	w.must(len(rest) == 0 || len(rest) == 1 && rest[0] == "50", "attempt %d was told %q", a.Attempt, rest)
	return a
}

func whyCancelled(w *world) {
	cancel := func(x string) {
		w.Helper()
		before := w.slot()
		removed, inFlight, err := w.s.Cancel(ctx, w.k, false, x)
		w.must(err == nil, "cancel: %v", err)
		before.cancel(x, removed, inFlight)
		before.same(w.slot())
	}
	for _, k := range kinds {
		w.clean(k)
		w.put("m", "n")
		a := w.took(w.as("a", 0), "m", "n")
		number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", time.Second), bury("n"))))
		cancel("x") // waits nowhere
		w.put("n")
		cancel("n") // waits, and is dead
		w.must(w.slot().why["n"] != "", "%v: the record of a dead content is gone", k)
		w.later(1000)
		w.took(w.as("a", number), "m")
		w.put("m")
		cancel("m") // waits, and is in flight
		w.must(w.slot().why["m"] != "", "%v: the record of a content in flight is gone", k)
		cancel("m") // is in flight only
		number = w.tells(protocol.Left, leaving(w.as("a", w.slot().number, fail("m", time.Second))))
		cancel("m") // waits for its retry
		w.must(w.slot().why["m"] == "", "%v: the record of a cancelled content is left", k)
		w.later(1000)
		w.turn(w.as("a", number), protocol.Empty)
	}
}
