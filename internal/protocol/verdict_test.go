package protocol_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// What a worker may say of its batch, and what becomes of it.

func TestVerdicts(t *testing.T) { onEachServer(t, verdictTrials) }

var verdictTrials = []trial{
	{name: "bad verdicts are refused", run: badVerdicts},
	{name: "handed back: time, priority and attempt are kept", run: handBack},
	{name: "handed back: 2^53-1 exactly", run: func(w *world) {
		w.clean(priorityKind)
		w.do("zadd", w.k.Store, 1<<53-1, "m")
		w.do("zadd", w.k.Store, 1<<53-2, "n")
		number := int64(0)
		for range 3 {
			a := w.took(w.as("a", number), "m", "n")
			w.must(a.Priority(0) == 1<<53-1 && a.Priority(1) == 1<<53-2, "priorities %d and %d", a.Priority(0), a.Priority(1))
			number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, giveBack("m", a.Priority(0)), giveBack("n", a.Priority(1)))))
			s := w.slot()
			w.must(s.store["m"] == 1<<53-1 && s.store["n"] == 1<<53-2, "%v", s.store)
		}
	}},
	{name: "handed back after the clock stepped back", run: func(w *world) {
		w.clean(rangeMerge)
		w.put("m")
		a := w.took(w.as("a", 0), "m")
		w.later(-3_600_000)
		w.tells(protocol.Left, leaving(w.as("a", a.Fence, giveBack("m", 0))))
		w.must(w.slot().store["m"] == w.now, "due at %d, now is %d", w.slot().store["m"], w.now)
	}},
	{name: "handed back: the first time of a range merge stays", run: firstTimeStays},
	{name: "odd delays", run: func(w *world) {
		for delay, want := range map[time.Duration]int64{-time.Hour: 0, -time.Millisecond: 0, -2 * time.Millisecond: 0, 1: 1, time.Millisecond - 1: 1, time.Millisecond: 1, 2500 * time.Microsecond: 2} {
			w.clean(rangeMerge)
			w.put("m")
			a := w.took(w.as("a", 0), "m")
			number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", delay))))
			w.waitsFor("m", want, 16)
			w.later(10)
			w.lease = time.Microsecond // is a lease
			w.took(w.as("a", number), "m")
			w.later(10)
			w.crash = delay
			w.tells(protocol.Number, w.as("b", 0))
			w.waitsFor("m", want, 15)
		}
	}},
	{name: "a fresh copy wins", run: freshCopyWins},
	{name: "verdicts on others change nothing", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.put("m")
			a := w.took(w.as("a", 0), "m")
			w.tells(protocol.Empty, w.as("a", a.Fence, fail("x", time.Second), bury("y"), giveBack("z", 77)))
			s := w.slot()
			w.must(len(s.store)+len(s.prepare)+len(s.retry)+len(s.dead)+len(s.why) == 0, "%v: %+v", k, s)
		}
	}},
	{name: "a batch is 256 at most", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			for i := range 300 {
				score := w.now - int64(i)
				w.do("zadd", w.k.Store, score, i)
			}
			a := w.turn(asking(300, w.as("a", 0)), protocol.Batch)
			s := w.slot()
			w.must(len(a.Contents) == maxBatch && len(s.store) == 300-maxBatch && len(s.prepare) == maxBatch,
				"%v: %d told, %d in flight, %d wait", k, len(a.Contents), len(s.prepare), len(s.store))
		}
	}},
}

// waitsFor checks that a content waits for its retry, in some milliseconds or
// (0) in the store.
func (w *world) waitsFor(x string, in, left int64) {
	w.Helper()
	s := w.slot()
	if in == 0 {
		w.must(s.store[x] == left && len(s.retry) == 0, "%+v", s)
	} else {
		w.must(s.retry[x] == (w.now+in)*100+left && len(s.store) == 0, "%+v", s)
	}
}

func badVerdicts(w *world) {
	for _, k := range kinds {
		w.clean(k)
		w.put("m", "n")
		a := w.took(w.as("a", 0), "m", "n")
		before := w.slot()
		letter := map[bool]string{true: "P", false: "T"}[k == priorityKind]
		for name, verdict := range map[string][]any{
			"not a number":             {"m", "x", "", "why"},
			"empty":                    {"m", "", "", "why"},
			"nan":                      {"m", "nan", "", "why"},
			"inf":                      {"m", "inf", "", "why"},
			"-inf":                     {"m", "-inf", "", "why"},
			"too long a delay":         {"m", "1000000000001", "", "why"},
			"a fraction":               {"m", "1.5", "", "why"},
			"too long put back":        {"m", "-1000000000003", "", "why"},
			"put back for a fraction":  {"m", "-3.5", "", "why"},
			"priority 16 of one back":  {"m", -3, 16, "why"},
			"no reason":                {"m", 1000, ""},
			"no priority":              {"m", 1000},
			"no fate":                  {"m"},
			"priority is not a number": {"m", 1000, "x", "why"},
			"priority 16":              {"m", 1000, 16, "why"},
			"priority of a hand-back":  {"m", -2, 16, "why"},
			"priority is nan":          {"m", 1000, "nan", "why"},
			"a second one":             {"m", 1000, "", "why", "n", "x", "", "why"},
		} {
			err := w.raw(append([]any{letter, "a", a.Fence, "", 0, 1, 1, 1000, 0}, verdict...)...)
			w.must(err != nil && strings.Contains(err.Error(), "RMQ bad verdict"), "%v, %s: %v", k, name, err)
			before.same(w.slot())
		}
		// Nothing but the verdicts was wrong.
		err := w.raw(letter, "a", a.Fence, "", 0, 1, 1, 1000, 0, "m", 1000000000000, "", "", "n", -2, 1<<53-1, "why")
		w.must(err == nil, "%v: %v", k, err)
	}
}

func handBack(w *world) {
	for _, k := range kinds {
		w.clean(k)
		w.put("m", "n")
		w.later(789)
		taken := w.now / 1000 * 1000
		a := w.took(w.as("a", 0), "m", "n")
		w.later(5000)
		number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, giveBack("m", a.Priority(0)), giveBack("n", a.Priority(1)))))
		s := w.slot()
		want := taken
		if k == priorityKind {
			want = 50
		}
		w.must(s.store["m"] == want && s.store["n"] == want && len(s.retry)+len(s.prepare)+len(s.why) == 0, "%v: %+v", k, s)
		a = w.took(w.as("a", number), "m", "n")
		w.must(a.Attempt == 1 && (k != priorityKind || a.Priority(1) == 50), "%v: %+v", k, a)

		// Of a batch told again no priority is known: such a content comes alone,
		// and has not spent an attempt either.
		number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, giveBack("m", 0))))
		s = w.slot()
		if k == priorityKind {
			w.must(s.retry["m"] == w.now*100+17 && len(s.store) == 0, "%+v", s)
		}
		a = w.took(w.as("a", number), "m")
		w.must(a.Attempt == 1 && w.slot().prepare["m"]%1000 == 16, "%v: attempt %d", k, a.Attempt)

		// A retry that is handed back keeps its attempt.
		number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", time.Second))))
		for range 3 {
			w.later(1000)
			a = w.took(w.as("a", number), "m")
			w.must(a.Attempt == 2, "%v: attempt %d of a retry handed back", k, a.Attempt)
			number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, giveBack("m", 50))))
			s = w.slot()
			why, _ := protocol.ParseFailure(s.why["m"])
			w.must(s.retry["m"] == w.now*100+16 && len(s.store) == 0 && why.Attempts == 1, "%v: %+v", k, s)
		}
	}
}

// firstTimeStays: what was taken, not started and sent again meanwhile waits on for
// the first of its times in a range merge, and for the last one else.
func firstTimeStays(w *world) {
	for _, k := range kinds {
		for i := range 8 {
			again, known := []int64{-2000, -1, 1, 5000}[i/2], i%2 > 0 // sent again for then; the worker knows when it was due
			w.clean(k)
			w.put("m", "begun")
			w.later(300)
			taken := w.now / 1000 * 1000
			a := w.took(w.as("a", 0), "m", "begun")
			w.do("zadd", w.k.Store, taken+again, "m", taken+again, "begun")
			w.later(200)
			end, first := giveBack("m", 0), taken
			if known {
				first -= 1000
				end.Due = time.UnixMilli(first)
			}
			number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, end, fail("begun", time.Second))))
			s, want := w.slot(), taken+again
			if k == rangeMerge {
				want = min(want, first)
			}
			w.must(s.store["m"] == want && s.store["begun"] == taken+again && len(s.retry) == 0, "%v: sent again for %d: %+v, taken at %d", k, again, s, taken)

			// A retry was begun before: the fresh copy has another story, and its own time.
			w.do("del", w.k.Store)
			w.put("m")
			number = w.tells(protocol.Left, leaving(w.as("a", w.took(w.as("a", number), "m").Fence, fail("m", time.Millisecond))))
			w.later(1)
			a = w.took(w.as("a", number), "m")
			w.do("zadd", w.k.Store, w.now+5000, "m")
			w.tells(protocol.Left, leaving(w.as("a", a.Fence, giveBack("m", 0))))
			s = w.slot()
			w.must(a.Attempt == 2 && s.store["m"] == w.now+5000 && len(s.retry) == 0, "%v: a retry: %+v", k, s)
		}
	}
}

// freshCopyWins: a content sent again while it is in flight is stored anew, and
// the old copy vanishes however its delivery ends.
func freshCopyWins(w *world) {
	for _, k := range kinds {
		for name, end := range map[string]protocol.Verdict{
			"failed": fail("m", time.Second), "literal": fail("m", 0), "dead": bury("m"), "back": giveBack("m", 60), "unknown": giveBack("m", 0),
			"put back": later("m", time.Second, 60), "put back for longer": later("m", time.Minute, 60), "put back, unknown": later("m", time.Second, 0),
		} {
			w.clean(k)
			w.put("m")
			a := w.took(w.as("a", 0), "m")
			due := w.now + 5000
			w.do("zadd", w.k.Store, due, "m")
			number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, end)))
			s := w.slot()
			if k == rangeMerge && end.Fate == protocol.NotStarted {
				due = startOfTime
			}
			if k == rangeMerge && end.Fate == protocol.PutBack {
				due = min(due, w.now+end.Delay.Milliseconds())
			}
			w.must(s.store["m"] == due && len(s.retry)+len(s.prepare)+len(s.dead) == 0, "%v, %s: %+v", k, name, s)
			w.at(due)
			w.must(w.took(w.as("a", number), "m").Attempt == 1, "%v, %s: attempt", k, name)
		}
	}
}
