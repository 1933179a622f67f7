package protocol_test

import (
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
)

// moves reschedules a content and compares what becomes of it.
func (w *world) moves(x string, m byhand.Move, want byhand.Place) {
	w.Helper()
	expected := w.slot()
	where, before, after := expected.reschedule(x, m, w.now)
	gotWhere, gotBefore, gotAfter, err := w.s.Reschedule(ctx, w.k, x, m)
	w.must(err == nil && gotWhere == want && where == want && gotBefore == before && gotAfter == after,
		"%v, %s to %+v: %s from %d to %d, not %s from %d to %d; %v", w.topic, x, m, gotWhere, gotBefore, gotAfter, want, before, after, err)
	s := w.slot()
	expected.same(s)
	w.sound(s)
}

func rescheduleWaiting(w *world) {
	for _, k := range []kind{rangeMerge, fixedTime} {
		w.clean(k)
		w.put("m", "n")
		w.moves("m", byhand.Move{In: 5 * time.Second}, byhand.InStore)
		w.must(w.slot().store["m"] == w.now+5000, "%v", w.slot().store)
		number := w.kill(0, "n")
		w.later(10)
		w.must(w.turn(w.as("a", number), protocol.Empty).Wait == 4990*time.Millisecond, "not at its time")
		w.moves("m", byhand.Move{At: w.time().Add(-time.Hour)}, byhand.InStore)
		a := w.took(w.as("a", number), "m")
		w.must(a.Attempt == 1, "attempt %d", a.Attempt)
		number = w.tells(protocol.Left, leaving(w.as("a", a.Fence)))
		w.put("m")
		w.moves("m", byhand.Move{At: time.UnixMilli(maxTime)}, byhand.InStore) // the year 9999 is over
		w.moves("m", byhand.Move{}, byhand.InStore)                            // now
		w.took(w.as("a", number), "m")
	}
	w.clean(priorityKind)
	w.put("m", "n")
	w.moves("m", byhand.Move{Priority: 17}, byhand.InStore)
	a := w.took(asking(1, w.as("a", 0)), "n")
	w.put("n")
	w.moves("m", byhand.Move{Priority: 1<<53 - 1}, byhand.InStore)
	a = w.took(asking(1, w.as("a", a.Fence)), "m")
	w.must(a.Priority(0) == 1<<53-1, "%+v", a)
}

const maxTime = 253402300800000

func rescheduleRetry(w *world) {
	for _, k := range kinds {
		w.clean(k)
		w.put("m")
		number := w.took(w.as("a", 0), "m").Fence
		for n := int64(1); n <= 16; n++ {
			number = w.tells(protocol.Left, leaving(w.as("a", number, fail("m", time.Hour))))
			w.moves("m", byhand.Move{Priority: 99}, byhand.InRetry) // waits for its time, not for a priority
			w.moves("m", byhand.Move{In: 2 * time.Hour}, byhand.InRetry)
			w.moves("m", byhand.Move{At: w.time().Add(time.Second)}, byhand.InRetry)
			w.must(w.slot().retry["m"] == (w.now+1000)*100+17-n, "%v: %v", k, w.slot().retry)
			w.turn(w.as("a", number), protocol.Empty)
			w.later(1000)
			a := w.took(w.as("a", number), "m")
			w.must(int64(a.Attempt) == n+1, "%v: attempt %d", k, a.Attempt)
			number = a.Fence
		}

		// Beside a fresh one that waits, it is that one which is moved.
		w.clean(k)
		w.put("m")
		number = w.took(w.as("a", 0), "m").Fence
		w.tells(protocol.Left, leaving(w.as("a", number, fail("m", time.Hour))))
		w.put("m")
		retry := w.slot().retry["m"]
		to := byhand.Move{At: time.UnixMilli(maxTime)}
		if k == priorityKind {
			to = byhand.Move{Priority: 77}
		}
		w.moves("m", to, byhand.InStore)
		w.must(w.slot().retry["m"] == retry, "%v: %v", k, w.slot().retry)

		// Only a retry is moved, if that is asked for.
		stored := w.slot().store["m"]
		w.moves("m", byhand.Move{In: time.Hour, RetryOnly: true}, byhand.InStore)
		w.must(w.slot().store["m"] == stored && w.slot().retry["m"] == retry, "%v: %v", k, w.slot())
		w.do("zrem", w.k.Store, "m")
		w.moves("m", byhand.Move{RetryOnly: true}, byhand.InRetry)
		w.must(w.slot().retry["m"]/100 == w.now, "%v: %v", k, w.slot().retry)
	}
}

// reschedulePutBack: it takes its place at its new time, though failed ones stand before it, and the
// time that it had first is over.
func reschedulePutBack(w *world) {
	w.clean(priorityKind)
	w.do("zadd", w.k.Store, 9000, "urgent", 70, "f")
	a := w.took(w.as("a", 0), "urgent", "f")
	number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, later("urgent", 100*time.Millisecond, 9000), fail("f", 150*time.Millisecond))))
	w.moves("urgent", byhand.Move{In: 50 * time.Millisecond, RetryOnly: true}, byhand.InRetry)
	w.must(w.slot().later == w.now+100, "it comes earlier: %+v", w.slot())
	w.moves("urgent", byhand.Move{In: 400 * time.Millisecond, RetryOnly: true}, byhand.InRetry)
	w.moves("f", byhand.Move{In: 150 * time.Millisecond, RetryOnly: true}, byhand.InRetry)
	w.do("zadd", w.k.Store, 60, "m", 50, "n")
	w.later(200)
	number = w.took(asking(1, w.as("a", number)), "m").Fence
	w.later(200)
	a = w.took(asking(1, w.as("a", number)), "urgent")
	w.must(a.Attempt == 1 && a.Priority(0) == 9000 && w.slot().later == 0, "%+v, %+v", a, w.slot())
}

func rescheduleOthers(w *world) {
	for _, k := range kinds {
		to := byhand.Move{In: time.Minute}
		if k == priorityKind {
			to = byhand.Move{Priority: 77}
		}
		w.clean(k)
		w.moves("m", to, byhand.Nowhere)
		w.put("m")
		a := w.took(w.as("a", 0), "m")
		w.moves("m", to, byhand.InFlight)
		w.put("m") // a fresh one waits: the one in flight stays as it is
		w.moves("m", to, byhand.InStore)
		w.must(w.slot().prepare["m"]%1000 == 16, "%v: %v", k, w.slot().prepare)
		w.do("zrem", w.k.Store, "m")
		number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", 0))))
		w.moves("m", to, byhand.AtOnce) // a literal topic
		w.kill(number, "m")
		w.moves("m", to, byhand.Nowhere) // dead
	}
}

func rescheduleRefused(w *world) {
	for _, k := range kinds {
		w.clean(k)
		w.put("m", "n")
		a := w.took(asking(1, w.as("a", 0)), w.turn(asking(1, w.as("a", 0)), protocol.Batch).Contents[0])
		x := a.Contents[0]
		y := map[string]string{"m": "n", "n": "m"}[x]
		w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail(x, time.Hour)))) // x waits for its retry, y waits
		before := w.slot()
		refused := func(x string, m byhand.Move) {
			w.Helper()
			where, _, _, err := w.s.Reschedule(ctx, w.k, x, m)
			w.must(err != nil && strings.Contains(err.Error(), "RMQ bad time or priority"), "%v, %s to %+v: %s, %v", k, x, m, where, err)
			before.same(w.slot())
		}
		for _, z := range []string{x, y} {
			refused(z, byhand.Move{Priority: 16})
			refused(z, byhand.Move{Priority: -1})
			refused(z, byhand.Move{Priority: 1 << 53})
			refused(z, byhand.Move{At: time.UnixMilli(1e11 - 1)})
			refused(z, byhand.Move{At: time.UnixMilli(maxTime + 1)})
			refused(z, byhand.Move{In: -60 * 365 * 24 * time.Hour})
		}
		refused(x, byhand.Move{At: time.UnixMilli(9e13 + 1)}) // a retry's score must stay exact
		w.moves(x, byhand.Move{At: time.UnixMilli(9e13)}, byhand.InRetry)
		w.moves(x, byhand.Move{Priority: 17}, byhand.InRetry)
		w.moves(x, byhand.Move{At: time.UnixMilli(1e11)}, byhand.InRetry)
		if k != priorityKind {
			w.moves(y, byhand.Move{At: time.UnixMilli(1e11)}, byhand.InStore)
		}
	}
}
