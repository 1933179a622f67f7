package protocol_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/testing/night"
)

// What its handler put back: it waits for so long, and spends no attempt. Then it takes its place
// among the others again.

func TestPutBack(t *testing.T) { onEachServer(t, putBackTrials) }

var putBackTrials = []trial{
	{name: "put back: again and again", live: true, run: putBackOften},
	{name: "put back: by the clock, not by when it was taken", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.put("m")
			a := w.took(w.as("a", 0), "m")
			w.later(5300)
			due := w.now + 700
			e := w.turn(w.as("a", a.Fence, later("m", 700*time.Millisecond, a.Priority(0))), protocol.Empty)
			w.must(e.Wait == 700*time.Millisecond, "%v: the next is due in %v", k, e.Wait)
			s := w.slot()
			if k == priorityKind {
				w.must(s.retry["m"] == due*100+putBack && s.later == due && len(s.store) == 0, "%+v", s)
			} else {
				w.must(s.store["m"] == due && len(s.retry) == 0, "%v: %+v", k, s)
			}
			want := protocol.Failure{First: w.time(), Last: w.time(), Worker: "a", Reason: "the shop is closed", Priority: a.Priority(0)}
			w.explained("m", want)
			w.sound(s)
			w.at(due - 1)
			w.turn(w.as("a", a.Fence), protocol.Empty)
			w.at(due)
			b := w.took(w.as("a", a.Fence), "m")
			w.must(b.Attempt == 1 && b.Priority(0) == a.Priority(0), "%v: %+v", k, b)
			w.turn(w.as("a", b.Fence), protocol.Empty)
			s = w.slot()
			w.must(len(s.why)+len(s.retry)+len(s.store) == 0 && !s.explains && s.later == 0, "%v: left over: %+v", k, s)
		}
	}},
	{name: "put back: never early", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.put("m", "n")
			a := w.took(w.as("a", 0), "m", "n")
			w.do("set", w.clock, fmt.Sprintf("%d.75", w.now)) // so much of the present ms is over
			w.turn(w.as("a", a.Fence, later("m", 5*time.Millisecond, a.Priority(0)), giveBack("n", 0)), protocol.Batch)
			s := w.slot()
			w.must(max(s.store["m"], s.retry["m"]/100) == w.now+6, "%v: at %d: %+v", k, w.now, s)
		}
	}},
	{name: "put back: a retry keeps its attempt", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.put("m")
			number := w.tells(protocol.Left, leaving(w.as("a", w.took(w.as("a", 0), "m").Fence, fail("m", time.Second))))
			record := w.slot().why["m"]
			for range 3 {
				w.later(1000)
				a := w.took(w.as("a", number), "m")
				w.must(a.Attempt == 2, "%v: attempt %d", k, a.Attempt)
				number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, later("m", time.Second, 0))))
				s := w.slot()
				w.must(s.retry["m"] == (w.now+1000)*100+16 && s.why["m"] == record && s.later == 0, "%v: %+v", k, s)
			}
		}
	}},
	{name: "put back: takes its place before retries that are due", run: func(w *world) {
		w.clean(priorityKind)
		w.put("f")
		a := w.took(w.as("a", 0), "f")
		number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("f", 5*time.Millisecond))))
		w.do("zadd", w.k.Store, 900, "m", 70, "n")
		a = w.took(w.as("a", number), "m", "n")
		number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, later("m", 10*time.Millisecond, 900), later("n", 20*time.Millisecond, 70))))
		w.do("zadd", w.k.Store, 50, "o", 800, "p")
		w.later(10)
		for _, x := range []string{"m", "p"} { // the retry has been due for longer
			a = w.took(asking(1, w.as("a", number)), x)
			number = a.Fence
		}
		w.must(w.slot().passed == 2, "%d passed", w.slot().passed)
		w.later(10)
		for _, x := range []string{"n", "o", "f"} {
			number = w.took(asking(1, w.as("a", number)), x).Fence
		}
	}},
	{name: "put back: more than one turn puts into place", run: putBackMany},
	{name: "put back: found without the mark in meta", run: func(w *world) {
		w.clean(priorityKind)
		w.put("m")
		number := w.tells(protocol.Left, leaving(w.as("a", w.took(w.as("a", 0), "m").Fence, later("m", time.Second, 50))))
		w.do("hdel", w.k.Meta, "later")
		w.later(1000)
		a := w.took(w.as("a", number), "m")
		w.must(a.Attempt == 1 && a.Priority(0) == 50, "%+v", a)
	}},
	{name: "put back: its record is lost", run: func(w *world) {
		for _, record := range []string{"", "0 1 2 - a reason", "0 1 2 16 a reason", "not of RMQ"} {
			w.clean(priorityKind)
			w.put("m")
			number := w.tells(protocol.Left, leaving(w.as("a", w.took(w.as("a", 0), "m").Fence, later("m", time.Second, 50))))
			if w.do("hset", w.k.Why, "m", record); record == "" {
				w.do("del", w.k.Why)
			}
			w.later(1000)
			w.do("zadd", w.k.Store, 60, "n")
			number = w.took(asking(1, w.as("a", number)), "n").Fence
			a := w.took(w.as("a", number), "m")
			w.must(a.Attempt == 1 && a.Priority(0) == 0, "%q: %+v", record, a)
		}
	}},
	{name: "put back: beside its dead copy", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.put("m")
			number := w.kill(0, "m")
			death, _ := protocol.ParseFailure(w.slot().why["m"])
			w.later(5)
			w.put("m")
			if k == priorityKind {
				w.do("zadd", w.k.Store, 70, "m")
				death.Priority = 70
			}
			a := w.took(w.as("a", number), "m")
			number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, later("m", time.Second, a.Priority(0)))))
			w.explained("m", death) // but for the priority
			w.sound(w.slot())
			w.later(1000)
			b := w.took(w.as("a", number), "m")
			w.must(b.Attempt == 1 && b.Priority(0) == a.Priority(0), "%v: %+v", k, b)
			w.finishAll(b.Fence)
			w.explained("m", death)
		}
	}},
	{name: "put back: its dead copy is deleted", run: func(w *world) {
		w.clean(priorityKind)
		w.put("m")
		died := byhand.DeadItem{Content: "m", Died: w.time()}
		number := w.kill(0, "m")
		w.put("m")
		a := w.took(w.as("a", number), "m")
		number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, later("m", time.Minute, 50))))
		w.put("n") // when it is done, every record that is left is that of a dead one, too
		number = w.tells(protocol.Empty, w.as("a", w.took(w.as("a", number), "n").Fence))
		w.must(!w.slot().explains, "%+v", w.slot())
		w.takesOut(true, 0, []byhand.DeadResult{byhand.Deleted}, died)
		w.sound(w.slot())
		w.later(60_000)
		b := w.took(w.as("a", number), "m")
		w.must(b.Attempt == 1 && b.Priority(0) == 50, "%+v", b)
	}},
}

// putBackOften: no attempt is spent however often, its priority stays, and nothing piles up.
func putBackOften(w *world) {
	for _, k := range kinds {
		w.clean(k)
		w.put("m")
		w.later(1)
		a := w.took(w.as("a", 0), "m")
		first := w.time()
		for range night.Times(300, 10_000) {
			e := w.turn(w.as("a", a.Fence, later("m", time.Second, a.Priority(0))), protocol.Empty)
			w.must(e.Wait == time.Second, "%v: waits for %v", k, e.Wait)
			w.now += 1000
			w.do("set", w.clock, w.now)
			b := w.took(w.as("a", e.Fence), "m")
			w.must(b.Attempt == 1 && b.Priority(0) == a.Priority(0), "%v: %+v", k, b)
			a = b
		}
		w.explained("m", protocol.Failure{First: first, Last: w.time().Add(-time.Second), Worker: "a", Reason: "the shop is closed", Priority: a.Priority(0)})
		number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", time.Second))))
		w.explained("m", protocol.Failure{Attempts: 1, First: w.time(), Last: w.time(), Worker: "a", Reason: "it failed"})
		w.later(1000)
		w.must(w.took(w.as("a", number), "m").Attempt == 2, "%v: after its first failure", k)
	}
}

// putBackMany: 500 are due at once, in the order of their bytes the lowest priorities first, and behind some
// that failed. None is taken while a higher one waits to be put into its place; where many failed ones stand
// before them, nothing that is lower than all of them.
func putBackMany(w *world) {
	const many = 500
	for _, failed := range []int{0, 1, 200} {
		w.clean(priorityKind)
		number := int64(0)
		if failed > 0 {
			for i := range failed {
				w.do("zadd", w.k.Store, 60, fmt.Sprint("f", i))
			}
			number = w.putOff(number, failed, func(x string, _ int64) protocol.Verdict { return fail(x, time.Millisecond) })
		}
		want := []string{}
		for i := range many {
			x := fmt.Sprintf("%03d", i)
			w.do("zadd", w.k.Store, 100+i, x)
			want = append(want, x)
		}
		slices.Reverse(want)
		for range 2 {
			number = w.putOff(number, many/2, func(x string, p int64) protocol.Verdict { return later(x, time.Second, p) })
		}
		w.later(1000)
		w.do("zadd", w.k.Store, 50, "low")
		var got []string
		waited := 0
		for len(got) <= many {
			before := len(w.slot().store)
			a, err := w.s.Turn(ctx, with(asking(7, w.as("a", number)), func(t *protocol.Turn) { t.Random = 1 }))
			w.must(err == nil && (a.Code == protocol.Batch || a.Code == protocol.Empty), "%+v, %v", a, err)
			number = a.Fence
			switch s := w.slot(); {
			case a.Code == protocol.Empty:
				w.must(a.Wait == 0 && len(s.store)-before <= maxBatch, "%+v, now %d", a, len(s.store))
				waited++
			case a.Attempt == 1:
				got = append(got, a.Contents...)
			}
		}
		w.must(got[many] == "low", "%d failed: a lower one goes before those put back", failed)
		w.must(w.slot().later == 0, "%+v", w.slot())
		if failed > 1 { // too few at a time
			w.must(waited == 0, "%d turns without any", waited)
			waited = 1
			slices.Sort(got[:many])
			slices.Reverse(got[:many])
		}
		w.must(slices.Equal(got[:many], want) && waited == 1, "%d failed: the order is %q, after %d turns without any", failed, got, waited)
	}
}

// putOff takes some first deliveries and leaves with a verdict on each.
func (w *world) putOff(number int64, count int, say func(x string, priority int64) protocol.Verdict) int64 {
	w.Helper()
	a := w.turn(asking(count, w.as("a", number)), protocol.Batch)
	w.must(len(a.Contents) == count && a.Attempt == 1, "%+v", a)
	var verdicts []protocol.Verdict
	for i, x := range a.Contents {
		verdicts = append(verdicts, say(x, a.Priority(i)))
	}
	return w.tells(protocol.Left, leaving(w.as("a", a.Fence, verdicts...)))
}
