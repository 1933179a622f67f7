package protocol_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/night"
)

// What is taken next, and when nothing is.

func TestOrder(t *testing.T) { onEachServer(t, orderTrials) }

var orderTrials = []trial{
	{name: "equal priorities are drawn fairly", run: func(w *world) {
		fair(w, 5, false)
		fair(w, 5, true)
		fair(w, 1, false)
	}},
	{name: "a retry is not starved by higher priorities", run: func(w *world) {
		notStarved(w, 0)
		notStarved(w, time.Millisecond)
	}},
	{name: "a delivery in eight is a retry", run: shareOfRetries},
	{name: "a failed one beside its dead copy", run: func(w *world) {
		// The turn that finishes `done` also delivers a retry, so nothing counts what passes. The
		// failed one counts all the same.
		w.clean(priorityKind)
		w.do("hset", w.k.Meta, "holder", "a", "batch", 7, "why", 1, "passed", 7)
		w.do("zadd", w.k.Prepare, w.now+16, "done")
		why := fmt.Sprintf("2 %d %d - a x", w.now, w.now)
		w.do("hset", w.k.Why, "x", why)
		w.do("zadd", w.k.Store, 15, "x", 100, "n", 90, "o", 90, "p", 90, "q") // so that the first few are not all
		w.do("zadd", w.k.Dead, w.now, "x")
		w.do("zadd", w.k.Retry, w.now*100+17, "given back")
		t := asking(1, w.as("a", 7))
		t.Random = 1 // else the lowest is looked at now and then
		a := w.took(t, "given back")
		w.must(w.slot().passed == 0, "%d passed", w.slot().passed)
		t = asking(1, w.as("a", a.Fence))
		t.Random = 1
		w.took(t, "n")
		w.must(w.slot().passed == 1, "%d passed the failed one, not 1", w.slot().passed)
	}},
	{name: "a failed one counts at once", run: func(w *world) {
		// The turn that puts it back takes a fresh one, which passes it.
		w.clean(priorityKind)
		w.do("zadd", w.k.Store, 100, "x", 90, "n", 80, "o", 80, "p", 80, "q")
		t := asking(1, w.as("a", 0))
		t.Random = 1 // else the lowest is looked at now and then
		a := w.took(t, "x")
		t = asking(1, w.as("a", a.Fence, fail("x", 0)))
		t.Random = 1
		w.took(t, "n")
		w.must(w.slot().passed == 1, "%d passed the failed one, not 1", w.slot().passed)
	}},
	{name: "the highest first", run: highestFirst},
	{name: "the oldest that are due first", run: oldestFirst},
	{name: "due times are told to who asks", run: dueTold},
	{name: "a due retry merges into a fresh copy", run: dueRetryMerges},
	{name: "a retry alone", run: retryAlone},
	{name: "a retry before higher priorities", run: func(w *world) {
		for _, delay := range []time.Duration{0, time.Second} {
			w.clean(priorityKind)
			w.put("m")
			a := w.took(w.as("a", 0), "m")
			number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", delay))))
			w.later(1000)
			w.put("n")
			w.do("zadd", w.k.Store, 60, "o")
			w.do("hset", w.k.Meta, "passed", 7) // as many as may
			a = w.took(w.as("a", number), "m")
			w.must(a.Attempt == 2 && a.Priority(0) == 0, "%+v", a)
			w.took(w.as("a", a.Fence), "n", "o")
		}
	}},
	{name: "what is wanted comes first", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.put("m")
			a := w.took(w.as("a", 0), "m")
			number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", 2*time.Second))))
			w.later(1000)
			w.put("n")
			w.later(1500)
			wants := func(t *protocol.Turn, x protocol.Wants) *protocol.Turn { t.Wants = x; return t }
			a = w.took(wants(asking(1, w.as("a", number)), protocol.Retry), "m")
			w.must(a.Attempt == 2, "%v: %+v", k, a)
			a = w.took(wants(asking(1, w.as("a", a.Fence, fail("m", time.Second))), protocol.Retry), "n") // none is due
			number = w.tells(protocol.Empty, wants(w.as("a", a.Fence), protocol.Retry))
			w.later(1000)
			if k == priorityKind {
				w.do("zadd", w.k.Store, 70, "o", 60, "p", 50, "q")
				w.do("hset", w.k.Meta, "passed", 7)
			} else {
				w.do("zadd", w.k.Store, w.now-30, "o", w.now-20, "p", w.now-10, "q", w.now+10, "not due")
			}
			a = w.took(wants(asking(2, w.as("a", number)), protocol.Behind), "p")
			a = w.took(wants(asking(256, w.as("a", a.Fence)), protocol.Behind), "q")
			w.must(k != priorityKind || w.slot().passed == 7, "%d passed", w.slot().passed)
			a = w.took(wants(asking(256, w.as("a", a.Fence)), protocol.Behind), "o")
			w.took(wants(asking(256, w.as("a", a.Fence)), protocol.Behind), "m") // there is nothing else
		}
	}},
	{name: "a score below 1 is a last delivery", run: func(w *world) {
		for _, k := range kinds {
			for _, score := range []int64{0, -5} { // nothing RMQ writes
				w.clean(k)
				w.do("zadd", w.k.Store, score, "m")
				a := w.took(w.as("a", 0), "m")
				w.must(a.Attempt == 17 && w.slot().prepare["m"] == w.now, "%v: attempt %d, %v", k, a.Attempt, w.slot().prepare)
				w.turn(w.as("a", a.Fence, fail("m", time.Second)), protocol.Empty)
				w.must(w.slot().dead["m"] == w.now, "%v: not dead", k)
			}
		}
	}},
	{name: "more retries than there are", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.do("zadd", w.k.Retry, 12345, "m") // nothing RMQ writes: due in 1970, 45 retries left
			a := w.took(w.as("a", 0), "m")
			w.must(a.Attempt == 1, "%v: attempt %d", k, a.Attempt)
			w.tells(protocol.Empty, w.as("a", a.Fence))
			w.do("zadd", w.k.Prepare, 45, "m")
			w.do("hset", w.k.Meta, "holder", "a")
			a = w.took(w.as("a", 0), "m") // told again
			w.must(a.Attempt == 1, "%v: attempt %d told again", k, a.Attempt)
		}
	}},
	{name: "empty tells when to look again", run: emptyTells},
	{name: "paused", run: paused},
}

func dueTold(w *world) {
	asked := func(t *protocol.Turn) *protocol.Turn {
		return with(t, func(t *protocol.Turn) { t.Due = true })
	}
	for _, k := range []kind{rangeMerge, fixedTime} {
		w.clean(k)
		w.put("m0", "m1", "m2")
		a := w.took(asked(w.as("a", 0)), "m0", "m1", "m2")
		for i := range a.Contents {
			w.must(a.Due(i).UnixMilli() == startOfTime-3+int64(i) && a.Priority(i) == 0, "%v: %q was due at %v", k, a.Contents[i], a.Due(i))
		}
		a = w.took(asked(w.as("a", 0)), "m0", "m1", "m2") // told again
		w.must(a.Due(0).IsZero() && a.Due(2).IsZero(), "%v: told again: %v", k, a.Due(0))
		number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m0", 0), fail("m1", time.Second))))
		w.later(1000)
		for _, x := range []string{"m0", "m1"} { // from the store, and from the retries
			a = w.took(asked(w.as("a", number)), x)
			_, told := a.Failure()
			w.must(a.Due(0).IsZero() && a.Attempt == 2 && told, "%v: retry of %s: %+v", k, x, a)
			number = w.tells(protocol.Left, leaving(w.as("a", a.Fence)))
		}
		w.put("m3")
		a = w.took(w.as("a", number), "m3")
		w.must(a.Due(0).IsZero(), "%v: nobody asked, but %v was told", k, a.Due(0))
	}
	w.clean(priorityKind)
	w.put("m")
	a := w.took(asked(w.as("a", 0)), "m")
	w.must(a.Priority(0) == 50 && a.Due(0).IsZero(), "a priority: %+v", a)
}

// fair draws from 40 contents of equal priority, with fresh ones below them or,
// at the top, above them, and counts how often each is drawn.
func fair(w *world, count int, above bool) {
	w.clean(priorityKind)
	const members = 40
	draws := night.Times(600, 2000)
	if count == 1 { // which says less of each
		draws = night.Times(1000, 2000)
	}
	random := rand.New(rand.NewPCG(5, 0))
	contents := make([]string, members)
	for i := range contents {
		contents[i] = fmt.Sprintf("m%02d", i)
	}
	w.put(contents...)
	if above {
		w.do("zadd", w.k.Store, 60, "top")
	} else {
		w.do("zadd", w.k.Store, 40, "low")
	}
	drawn, number, mean := map[string]int{}, int64(0), 0
	for range draws {
		t := asking(count, w.as("a", number))
		t.Random = random.IntN(1 << 30)
		a := w.turn(t, protocol.Batch)
		number = a.Fence
		again := []any{"zadd", w.k.Store}
		for i, x := range a.Contents {
			p := int64(50)
			if x == "top" {
				p = 60
			}
			w.must(a.Priority(i) == p, "%s has priority %d", x, a.Priority(i))
			again = append(again, p, x)
			drawn[x]++
			mean++
		}
		w.must(len(a.Contents) == count && (a.Contents[0] == "top") == above, "took %q", a.Contents)
		w.do(again...) // at once: handled, and sent again
	}
	mean = (mean - drawn["top"]) / members
	for _, x := range contents {
		w.must(drawn[x]*22 > mean*10 && drawn[x]*10 < mean*22, "of %d draws %s has %d; mean %d", draws, x, drawn[x], mean)
	}
	w.must(drawn["low"] == 0, "lower ones were drawn")
}

func notStarved(w *world, delay time.Duration) {
	w.clean(priorityKind)
	w.put("failed")
	a := w.took(w.as("a", 0), "failed")
	random := rand.New(rand.NewPCG(7, 0))
	t := w.as("a", a.Fence, fail("failed", delay))
	for turn := range 200 {
		w.later(10)
		w.do("zadd", w.k.Store, 90, turn)
		t.Random = random.IntN(1 << 30)
		a := w.turn(asking(1, t), protocol.Batch)
		if a.Contents[0] == "failed" {
			w.must(a.Attempt == 2 && turn > 0, "attempt %d in turn %d", a.Attempt, turn)
			return
		}
		t = w.as("a", a.Fence)
	}
	w.Fatalf("not retried in 200 turns")
}

// shareOfRetries: many retries are due, and fresh ones of higher priority never end.
func shareOfRetries(w *world) {
	for _, literal := range []bool{false, true} {
		for count, failed := range map[int]int{1: 40, 20: 100, 256: night.Times(200, 1000)} {
			w.clean(priorityKind)
			w.do("hset", w.k.Meta, "why", 1)
			for i := range failed {
				x := fmt.Sprint("failed", i)
				if w.do("hset", w.k.Why, x, "1 1 1 - a it failed"); literal {
					w.do("zadd", w.k.Store, 1+i%16, x)
				} else {
					w.do("zadd", w.k.Retry, w.now*100+16, x)
				}
			}
			fresh, retried, number := 0, 0, int64(0)
			for retried < failed {
				args := []any{"zadd", w.k.Store}
				for i := range count {
					args = append(args, 90, fmt.Sprint("fresh", fresh+i))
				}
				w.do(args...)
				a := w.turn(asking(count, w.as("a", number)), protocol.Batch)
				if number = a.Fence; a.Attempt == 1 {
					w.must(len(a.Contents) == count, "%d fresh ones taken of %d", len(a.Contents), count)
					fresh += count
				} else {
					retried++
				}
				w.must(retried*7 <= fresh && fresh <= 7*retried+6+count, "in batches of %d, %d retries and %d fresh ones", count, retried, fresh)
			}
			number = w.tells(protocol.Left, leaving(w.as("a", number)))
			w.took(asking(1, w.as("a", number)), w.turn(asking(1, w.as("a", number)), protocol.Batch).Contents...)
			w.must(w.slot().passed == 0, "none is due, and still %d passed", w.slot().passed)
		}
	}

	// A failed one in the store that nothing of RMQ wrote: it is found, if not at once.
	w.clean(priorityKind)
	w.do("zadd", w.k.Store, 3, "failed", 80, "o", 80, "p", 80, "q")
	random := rand.New(rand.NewPCG(9, 0))
	for turn, t := 0, w.as("a", 0); ; turn++ {
		w.must(turn < 500, "not found in 500 turns")
		w.do("zadd", w.k.Store, 90, turn)
		t.Random = random.IntN(1 << 30)
		a := w.turn(asking(1, t), protocol.Batch)
		if t = w.as("a", a.Fence); a.Contents[0] == "failed" {
			break
		}
	}

	// Whatever somebody writes there, it is as many as may pass, or none.
	for _, odd := range []string{"x", "inf", "-inf", "nan", "-1e300", "1e300"} {
		w.clean(priorityKind)
		w.do("hset", w.k.Meta, "passed", odd)
		w.do("zadd", w.k.Retry, w.now*100+16, "failed")
		number, turns := int64(0), 0
		for attempt := 1; attempt == 1; turns++ {
			w.must(turns < 9, "%q: no retry in 9 turns", odd)
			w.do("zadd", w.k.Store, 90, turns)
			a := w.turn(asking(1, w.as("a", number)), protocol.Batch)
			number, attempt = a.Fence, a.Attempt
		}
		w.do("zadd", w.k.Retry, w.now*100+16, "1", w.now*100+16, "2")
		for i := range 40 {
			w.do("zadd", w.k.Retry, w.now*100+16, fmt.Sprint("more", i))
		}
		fresh := 0
		for i := range 40 {
			w.do("zadd", w.k.Store, 90, fmt.Sprint("fresh", i))
			a := w.turn(asking(1, w.as("a", number)), protocol.Batch)
			if number = a.Fence; a.Attempt == 1 {
				fresh++
			}
		}
		w.must(fresh > 0, "%q: no fresh one in 40 turns", odd)
	}
}

func highestFirst(w *world) {
	for _, deck := range []struct {
		priorities []int64
		counts     []int
	}{
		{[]int64{17, 17, 17, 30, 30, 40, 99, 1<<53 - 1}, []int{1, 2, 2, 2, 1}},
		{[]int64{99, 99, 40, 30, 30, 20, 17, 17}, []int{3, 3, 2}},
		{[]int64{50, 50, 50, 50, 50, 50, 50, 50}, []int{3, 3, 2}},
	} {
		for seed := range 16 {
			w.clean(priorityKind)
			for i, p := range deck.priorities {
				w.do("zadd", w.k.Store, p, fmt.Sprint("m", i))
			}
			expected, number := w.slot(), int64(0)
			for _, count := range deck.counts {
				t := asking(count, w.as("a", number))
				t.Random = seed*7919 + count
				a := w.turn(t, protocol.Batch)
				number = a.Fence
				expected.turn(t, w.now, a)
				expected.same(w.slot())
			}
			w.turn(w.as("a", number), protocol.Empty)
		}
	}
}

func oldestFirst(w *world) {
	w.clean(fixedTime)
	for i, in := range []int64{-500, -400, -400, -1, 0, 1, 900} {
		w.do("zadd", w.k.Store, w.now+in, fmt.Sprint("m", i))
	}
	number := int64(0)
	for _, want := range [][]string{{"m0", "m1"}, {"m2", "m3"}, {"m4"}} {
		a := w.turn(asking(2, w.as("a", number)), protocol.Batch)
		number = a.Fence
		w.must(slices.Equal(a.Contents, want), "took %q, not %q", a.Contents, want)
	}
	w.must(w.turn(w.as("a", number), protocol.Empty).Wait == time.Millisecond, "wait")
	w.do("set", w.clock, fmt.Sprintf("%d.25", w.now))
	wait := w.turn(w.as("a", number), protocol.Empty).Wait
	w.must(wait == 750*time.Microsecond, "wait %v, a quarter of a millisecond later", wait)
	w.later(1)
	w.took(w.as("a", number), "m5")
}

// dueRetryMerges: what was sent again while it waited for its retry waits for
// its new time, and the retry is forgotten.
func dueRetryMerges(w *world) {
	w.clean(fixedTime)
	w.put("m", "n")
	a := w.took(w.as("a", 0), "m", "n")
	number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", time.Second), fail("n", 2*time.Second))))
	due := w.now + 3000
	w.do("zadd", w.k.Store, due, "m")
	w.later(2000) // both retries are due
	w.must(w.turn(w.as("a", number), protocol.Empty).Wait == 0, "there is more to take")
	s := w.slot()
	w.must(s.store["m"] == due && len(s.retry) == 1, "%+v", s)
	a = w.took(w.as("a", number), "n")
	w.must(a.Attempt == 2, "attempt")
	a = w.turn(w.as("a", a.Fence), protocol.Empty)
	w.must(a.Wait == time.Second, "wait %v", a.Wait)
	w.later(1000)
	w.must(w.took(w.as("a", a.Fence), "m").Attempt == 1, "attempt")

	// A fresh copy that is due first supersedes a retry that is not.
	for _, k := range kinds {
		w.clean(k)
		w.put("m")
		a := w.took(w.as("a", 0), "m")
		number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", time.Second))))
		w.put("m")
		a = w.took(w.as("a", number), "m")
		s := w.slot()
		w.must(a.Attempt == 1 && len(s.retry)+len(s.store) == 0, "%v: %+v", k, s)
	}
}

func retryAlone(w *world) {
	for _, k := range kinds {
		for _, delay := range []time.Duration{0, time.Second} {
			w.clean(k)
			w.put("m")
			a := w.took(w.as("a", 0), "m")
			number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", delay))))
			w.later(1000)
			for i := range 5 {
				score := int64(50)
				if k != priorityKind {
					score = w.now
				}
				w.do("zadd", w.k.Store, score, i)
			}
			if k == priorityKind { // fresh ones first, and not the retry with them
				a = w.took(w.as("a", number), "0", "1", "2", "3", "4")
				number = a.Fence
				w.must(a.Attempt == 1 && a.Priority(4) == 50, "%v: %+v", k, a)
			}
			a = w.took(w.as("a", number), "m")
			w.must(a.Attempt == 2 && a.Priority(0) == 0, "%v: %+v", k, a)
			if k == priorityKind {
				continue
			}
			w.must(w.took(w.as("a", a.Fence), "0", "1", "2", "3", "4").Attempt == 1, "attempt of the others")
		}
	}
}

func emptyTells(w *world) {
	for _, k := range kinds {
		w.clean(k)
		w.must(w.turn(w.as("a", 0), protocol.Empty).Wait < 0, "%v: something is due", k)
		w.put("m")
		a := w.took(w.as("a", 0), "m")
		a = w.turn(w.as("a", a.Fence, fail("m", 7*time.Second)), protocol.Empty)
		w.must(a.Wait == 7*time.Second, "%v: wait %v", k, a.Wait)
		w.later(6999)
		w.must(w.turn(w.as("a", a.Fence), protocol.Empty).Wait == time.Millisecond, "%v: wait", k)
		if k != priorityKind {
			w.do("zadd", w.k.Store, w.now+5, "n", w.now+900, "o")
			w.later(-10)
			w.must(w.turn(w.as("a", a.Fence), protocol.Empty).Wait == 11*time.Millisecond, "%v: wait", k)
			w.do("zadd", w.k.Store, w.now+5, "n")
			w.must(w.turn(w.as("a", a.Fence), protocol.Empty).Wait == 5*time.Millisecond, "%v: wait", k)
		}
	}
}

// paused: finishing and leaving work, nothing is taken.
func paused(w *world) {
	for _, k := range kinds {
		w.clean(k)
		w.put("m", "n")
		a := w.took(asking(1, w.as("a", 0)), w.turn(asking(1, w.as("a", 0)), protocol.Batch).Contents[0])
		x := a.Contents[0]
		w.do("hset", w.k.Meta, "paused", 1)
		w.took(w.as("a", 0), x) // told again: it is in flight already
		w.turn(w.as("b", 0), protocol.Busy)
		b := w.turn(w.as("a", a.Fence, fail(x, time.Second)), protocol.Paused)
		w.must(b.Fence == a.Fence, "%v: number %d", k, b.Fence)
		s := w.slot()
		w.must(len(s.prepare) == 0 && s.retry[x] != 0 && len(s.store) == 1, "%v: %+v", k, s)
		w.later(5000)
		for range 3 {
			w.turn(w.as("a", b.Fence), protocol.Paused)
			w.turn(w.as("b", b.Fence), protocol.Paused)
		}
		number := w.tells(protocol.Left, leaving(w.as("a", b.Fence)))
		w.do("hdel", w.k.Meta, "paused")
		w.turn(w.as("b", number), protocol.Batch)
		w.do("hset", w.k.Meta, "paused", 1)
		number = w.tells(protocol.Number, knowing("b", w.as("c", 0)))
		w.turn(w.as("c", number), protocol.Paused)
	}
}
