package protocol_test

import (
	"maps"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
)

// A content that is dead may live as well, wherever a content can be. What is
// done to the dead one must not touch the live ones, and what explained the death
// must not be left behind.

// livePlace is where live copies of a dead content are.
type livePlace struct {
	name  string
	only  func(k kind) bool // nil: in every kind
	reach func(w *world, number int64) int64
}

var livePlaces = func() []livePlace {
	sent := func(w *world, number int64) int64 { w.put("m"); return number }
	inFlight := func(w *world, number int64) int64 {
		w.put("m")
		return w.took(w.as("a", number), "m").Fence
	}
	failing := func(delay time.Duration) func(w *world, number int64) int64 {
		return func(w *world, number int64) int64 {
			number = inFlight(w, number)
			w.later(5)
			return w.tells(protocol.Left, leaving(w.as("a", number, fail("m", delay))))
		}
	}
	again := func(reach func(w *world, number int64) int64) func(w *world, number int64) int64 {
		return func(w *world, number int64) int64 {
			number = reach(w, number)
			w.later(1000)
			return w.took(w.as("a", number), "m").Fence
		}
	}
	and := func(first, then func(w *world, number int64) int64) func(w *world, number int64) int64 {
		return func(w *world, number int64) int64 { return then(w, first(w, number)) }
	}
	unknown := func(w *world, number int64) int64 { // its priority
		return w.tells(protocol.Left, leaving(w.as("a", inFlight(w, number), giveBack("m", 0))))
	}
	snoozed := func(w *world, number int64) int64 {
		w.put("m")
		a := w.took(w.as("a", number), "m")
		return w.tells(protocol.Left, leaving(w.as("a", a.Fence, later("m", time.Second, a.Priority(0)))))
	}
	priorities := func(k kind) bool { return k == priorityKind }
	return []livePlace{
		{name: "it waits", reach: sent},
		{name: "a first delivery", reach: inFlight},
		{name: "a first delivery, and one more waits", reach: and(inFlight, sent)},
		{name: "before a retry", reach: failing(time.Second)},
		{name: "before a retry, and a fresh one waits", reach: and(failing(time.Second), sent)},
		{name: "put back", reach: snoozed},
		{name: "put back, and a fresh one waits", reach: and(snoozed, sent)},
		{name: "in flight again after it was put back", reach: again(snoozed)},
		{name: "a retry in flight", reach: again(failing(time.Second))},
		{name: "a retry in flight, and a fresh one waits", reach: and(again(failing(time.Second)), sent)},
		{name: "failed in the store", reach: failing(0)},
		{name: "a literal retry in flight", reach: again(failing(0))},
		{name: "a fresh one took the place of a retry", reach: and(failing(time.Second), inFlight)},
		{name: "handed back without its priority", only: priorities, reach: unknown},
		{name: "in flight again without its priority", only: priorities, reach: again(unknown)},
	}
}()

func besideLiveCopies(w *world, remove bool) {
	word := map[bool]byhand.DeadResult{false: byhand.Merged, true: byhand.Deleted}[remove]
	for _, place := range livePlaces {
		for _, k := range kinds {
			if place.only != nil && !place.only(k) {
				continue
			}
			for _, end := range []string{"done", "failed", "cancelled"} {
				w.clean(k)
				w.put("m")
				number := w.kill(0, "m")
				died := byhand.DeadItem{Content: "m", Died: w.time()}
				w.later(5)
				number = place.reach(w, number)
				before := w.slot()
				w.must(before.why["m"] != "", "%s: %+v", place.name, before)
				w.takesOut(remove, 0, []byhand.DeadResult{word}, died)
				s := w.slot()
				w.must(maps.Equal(s.store, before.store) && maps.Equal(s.prepare, before.prepare) && maps.Equal(s.retry, before.retry) && s.holder == before.holder && s.number == before.number,
					"%s: was %+v, is %+v", place.name, before, s)
				failed := before.livesFailed("m")
				if before.retry["m"]%100 == putBack { // of its own it has a priority
					own, known := protocol.ParseFailure(s.why["m"])
					w.must(known && own.PutBack() && own.Priority == 50 && s.explains, "%s: %+v", place.name, s)
				} else {
					w.must(!failed && s.why["m"] == "" || failed && s.why["m"] == before.why["m"] && s.explains, "%s, failed before %v: %+v", place.name, failed, s)
				}
				switch end {
				case "done":
					w.finishAll(number)
				case "failed":
					w.failOnce(place.name, number)
				case "cancelled":
					_, flying, err := w.s.Cancel(ctx, w.k, false, "m")
					w.must(err == nil && flying == (len(s.prepare) > 0), "%s: %v, %v", place.name, flying, err)
					w.sound(w.slot())
					w.finishAll(number)
				}
				s = w.slot()
				w.must(len(s.store)+len(s.prepare)+len(s.retry)+len(s.dead)+len(s.why) == 0, "%v, %s, %s: left over: %+v", k, place.name, end, s)
				w.must(!s.explains || end == "cancelled", "%v, %s, %s: the flag is left: %+v", k, place.name, end, s)
			}
		}
	}
}

// finishAll does all there is, as the holder of the batch in flight, if there is
// one.
func (w *world) finishAll(number int64) {
	w.Helper()
	w.later(10_000)
	for range 10 {
		a, err := w.s.Turn(ctx, w.as("a", number))
		w.must(err == nil && slices.Contains([]protocol.Code{protocol.Batch, protocol.Empty, protocol.Number}, a.Code), "%+v, %v", a, err)
		w.sound(w.slot())
		number = a.Fence
		if a.Code == protocol.Empty && a.Wait < 0 {
			return
		}
	}
	w.Fatalf("there is no end: %+v", w.slot())
}

// failOnce fails the delivery that is in flight, or the next one, looks at what
// is noted of it, and finishes the rest.
func (w *world) failOnce(where string, number int64) {
	w.Helper()
	s := w.slot()
	w.later(2000)
	if len(s.prepare) == 0 {
		number = w.took(w.as("a", number), "m").Fence
		s = w.slot()
	}
	left, record, resent := s.prepare["m"]%1000, s.why["m"], s.store["m"] > retries
	number = w.tells(protocol.Left, leaving(w.as("a", number, fail("m", time.Second))))
	want := protocol.Failure{Attempts: int(17 - left), First: w.time(), Last: w.time(), Worker: "a", Reason: "it failed"}
	if old, known := protocol.ParseFailure(record); known && left < retries {
		want.First, want.Priority = old.First, old.Priority
	}
	got, known := protocol.ParseFailure(w.slot().why["m"])
	if !resent { // else the fresh copy wins, and nothing is noted
		w.must(known && got == want, "%s: %q, not %+v", where, w.slot().why["m"], want)
	}
	w.sound(w.slot())
	w.finishAll(number)
}
