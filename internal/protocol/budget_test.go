package protocol_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// A send buys 17 deliveries, however they end, and a message that kills its
// workers dies alone.

func TestBudget(t *testing.T) { onEachServer(t, budgetTrials) }

var budgetTrials = []trial{
	{name: "17 deliveries that fail", run: func(w *world) { seventeenOf(w, "failure") }},
	{name: "17 deliveries whose lease ends", run: func(w *world) { seventeenOf(w, "end of lease") }},
	{name: "17 deliveries that kill the worker", run: func(w *world) { seventeenOf(w, "proof of death") }},
	{name: "a killer dies alone", run: func(w *world) {
		for _, k := range kinds {
			killerAmongNeighbours(w, k)
		}
	}},
	{name: "dead at once", run: deadAtOnce},
}

func seventeenOf(w *world, how string) {
	for _, k := range kinds {
		for _, delay := range []time.Duration{0, time.Second} {
			seventeen(w, k, how, delay)
		}
	}
}

func seventeen(w *world, k kind, how string, delay time.Duration) {
	w.Helper()
	w.clean(k)
	w.crash = delay
	if how == "end of lease" {
		w.lease = 2 * time.Second
	}
	w.put("m")
	worker, number := 1, int64(0)
	id := func() string { return fmt.Sprint("w", worker) }
	for n := int64(1); n <= 17; n++ {
		w.later(1000)
		a := w.took(w.as(id(), number), "m")
		w.must(int64(a.Attempt) == n, "delivery %d is told as attempt %d", n, a.Attempt)
		w.must((a.Priority(0) == 50) == (k == priorityKind && n == 1), "delivery %d has priority %d", n, a.Priority(0))
		w.must(w.slot().prepare["m"] == w.now/1000*1000+17-n, "prepare score %d in delivery %d", w.slot().prepare["m"], n)
		w.later(123)
		worker++
		switch how {
		case "failure":
			worker--
			number = w.tells(protocol.Left, leaving(w.as(id(), a.Fence, fail("m", delay))))
		case "end of lease":
			w.later(2000)
			number = w.tells(protocol.Number, w.as(id(), 0))
		case "proof of death":
			number = w.tells(protocol.Number, knowing(fmt.Sprint("w", worker-1), w.as(id(), 0)))
		}
		s, left := w.slot(), 17-n
		_, buried := s.dead["m"]
		switch {
		case n == 17:
			w.must(s.dead["m"] == w.now && len(s.store)+len(s.retry)+len(s.prepare) == 0, "after 17 deliveries: %+v", s)
		case delay == 0:
			w.must(s.store["m"] == left && len(s.retry) == 0 && !buried, "after delivery %d: %+v", n, s)
		default:
			w.must(s.retry["m"] == (w.now+1000)*100+left && len(s.store) == 0 && !buried, "after delivery %d: %+v", n, s)
		}
		why, _ := protocol.ParseFailure(s.why["m"])
		w.must(why.Attempts == int(n), "record %q after delivery %d", s.why["m"], n)
	}
	w.later(time.Hour.Milliseconds())
	w.turn(w.as("z", number), protocol.Empty)
}

// killerAmongNeighbours: m3 kills every worker it is delivered to. Its
// neighbours in the first batch come alone afterwards, and survive.
func killerAmongNeighbours(w *world, k kind) {
	w.clean(k)
	w.put("m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7")
	deliveries, handled := map[string]int{}, map[string]bool{}
	worker, number := 0, int64(0)
	for range 200 {
		w.later(500)
		t := knowing(fmt.Sprint("w", worker-1), w.as(fmt.Sprint("w", worker), number))
		a, err := w.s.Turn(ctx, t)
		w.must(err == nil, "%v", err)
		number = a.Fence
		killed := false
		for _, x := range a.Contents {
			deliveries[x]++
			killed = killed || x == "m3"
		}
		for _, x := range a.Contents {
			handled[x] = handled[x] || !killed
		}
		if killed {
			worker++
			number = 0
		}
	}
	s := w.slot()
	w.must(len(s.dead) == 1 && s.dead["m3"] > 0 && deliveries["m3"] == 17, "%v: dead %v, deliveries %v", k, s.dead, deliveries)
	w.must(len(s.store)+len(s.retry)+len(s.prepare) == 0, "%v: left over: %+v", k, s)
	for x, n := range deliveries {
		w.must(x == "m3" || n == 2 && handled[x], "%v: %s was delivered %d times", k, x, n)
	}
}

// deadAtOnce: a verdict buries a content whatever attempts it has left.
func deadAtOnce(w *world) {
	for _, k := range kinds {
		w.clean(k)
		w.put("m", "n")
		a := w.took(w.as("a", 0), "m", "n")
		w.tells(protocol.Empty, w.as("a", a.Fence, bury("m")))
		s := w.slot()
		w.must(s.dead["m"] == w.now && len(s.dead) == 1 && len(s.store)+len(s.retry)+len(s.prepare) == 0, "%v: %+v", k, s)
	}
}
