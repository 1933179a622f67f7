package protocol_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
)

// What people change by hand: pause and resume, dead contents, and the time or
// priority of what waits.

func TestByHand(t *testing.T) { onEachServer(t, byHandTrials) }

var byHandTrials = []trial{
	{name: "pause: stops a slot, and lets it go on", run: pauseAndResume},
	{name: "pause: by any text", run: func(w *world) {
		for text, since := range map[string]int64{"": 0, "1": 0, "by Bob, until noon": 0, "1690000000000": 1690000000000} {
			w.clean(rangeMerge)
			w.put("m")
			w.do("hset", w.k.Meta, "paused", text)
			w.turn(w.as("a", 0), protocol.Paused)
			changed, before, err := w.s.Pause(ctx, w.k, true)
			w.must(!changed && before.Equal(time.UnixMilli(since)) && err == nil, "%q: %v, %v, %v", text, changed, before, err)
			w.must(w.do("hget", w.k.Meta, "paused") == text, "%q is now %q", text, w.do("hget", w.k.Meta, "paused"))
			c, err := w.s.Count(ctx, w.k, false)
			w.must(err == nil && c.Paused.Equal(time.UnixMilli(since)), "%q: %+v, %v", text, c, err)
			f, err := w.s.Find(ctx, w.k, false, "m")
			w.must(err == nil && f.Paused.Equal(time.UnixMilli(since)), "%q: %+v, %v", text, f, err)
			a, err := w.s.Audit(ctx, w.k, byhand.PartStore, "0", 10)
			w.must(err == nil && a.Meta.Paused != "" && a.Violations() == nil, "%q: %+v, %v", text, a, err)
			changed, before, err = w.s.Pause(ctx, w.k, false)
			w.must(changed && before.Equal(time.UnixMilli(since)) && err == nil, "%q: %v, %v, %v", text, changed, before, err)
			w.took(w.as("a", 0), "m")
		}
	}},
	{name: "requeue: stored like a new one", run: requeueAnew},
	{name: "requeue: which priority", run: requeuePriorities},
	{name: "requeue: another death", run: func(w *world) {
		for _, k := range kinds {
			for _, remove := range []bool{false, true} {
				w.clean(k)
				w.put("m")
				number := w.kill(0, "m")
				seen := byhand.DeadItem{Content: "m", Died: w.time()}
				w.later(10)
				w.put("m")
				w.kill(number, "m") // again
				w.takesOut(remove, 0, []byhand.DeadResult{byhand.Gone}, seen)
				w.takesOut(remove, 0, []byhand.DeadResult{byhand.Gone}, byhand.DeadItem{Content: "m", Died: w.time().Add(time.Millisecond)})
				w.takesOut(remove, 0, []byhand.DeadResult{byhand.Gone}, byhand.DeadItem{Content: "other", Died: w.time()})
				word := map[bool]byhand.DeadResult{false: byhand.Stored, true: byhand.Deleted}[remove]
				seen.Died = w.time()
				w.takesOut(remove, 0, []byhand.DeadResult{word, byhand.Gone}, seen, seen)
				w.takesOut(remove, 0, []byhand.DeadResult{byhand.Gone}, seen)
				w.clean(k) // a time of death from other hands
				w.do("zadd", w.k.Dead, fmt.Sprintf("%d.5", w.now), "m")
				w.do("hset", w.k.Why, "m", "17 1700000000000 1700000000000 50 a it failed")
				call := w.s.Delete
				if !remove {
					call = func(ctx context.Context, k protocol.SlotKeys, dead []byhand.DeadItem) ([]byhand.DeadResult, error) {
						return w.s.Requeue(ctx, k, w.topic == priorityKind, 0, dead)
					}
				}
				words, err := call(ctx, w.k, []byhand.DeadItem{{Content: "m", Died: w.time()}})
				w.must(err == nil && slices.Equal(words, []byhand.DeadResult{word}), "%v: %v, %v", k, words, err)
			}
		}
	}},
	{name: "requeue: without its note", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			number := int64(0)
			for _, x := range []string{"m", "n", "o", "p"} {
				w.put(x)
				number = w.kill(number, x)
			}
			died := w.time()
			w.later(5)
			w.put("n")
			for _, x := range []string{"m", "n", "o", "p"} {
				w.do("hset", w.noteKey, x, `1 1 2 2 3 {"a":"1 2"}`)
			}
			item := func(x string) byhand.DeadItem { return byhand.DeadItem{Content: x, Died: died} }
			w.takesOut(false, 20, []byhand.DeadResult{byhand.Stored, byhand.Merged, byhand.Gone}, item("m"), item("n"), item("x"))
			w.takesOut(true, 0, []byhand.DeadResult{byhand.Deleted}, item("o"))
			w.hasNotes("n", "o", "p")
			w.must(w.do("hget", w.noteKey, "n") == `1 1 2 2 0 {"a":"1 2"}` && w.do("hget", w.noteKey, "o") == `1 1 2 2 3 {"a":"1 2"}`, "%v", w.do("hgetall", w.noteKey))
			w.took(w.as("a", number), "m", "n")
		}
	}},
	{name: "requeue: merges into a live copy", run: func(w *world) { besideLiveCopies(w, false) }},
	{name: "delete: leaves a live copy alone", run: func(w *world) { besideLiveCopies(w, true) }},
	{name: "requeue: 500 of any bytes", run: func(w *world) { fiveHundred(w, false) }},
	{name: "delete: 500 of any bytes", run: func(w *world) { fiveHundred(w, true) }},
	{name: "reschedule: what waits", run: rescheduleWaiting},
	{name: "reschedule: a retry", run: rescheduleRetry},
	{name: "reschedule: one that was put back", run: reschedulePutBack},
	{name: "reschedule: what does not wait", run: rescheduleOthers},
	{name: "reschedule: times and priorities that cannot be", run: rescheduleRefused},
}

// anyBytes is contents like nobody would choose them.
var anyBytes = []string{"\x00", "a\x00b", "\xff\xfe not UTF-8 \xc3", strings.Repeat("long", 64<<10), "{a}", "1", "-1", "nan", "content with spaces\r\n", "", "日本"}

func pauseAndResume(w *world) {
	for _, k := range kinds {
		w.clean(k)
		w.put("m", "n")
		a := w.took(asking(1, w.as("a", 0)), w.turn(asking(1, w.as("a", 0)), protocol.Batch).Contents[0])
		paused := func(on bool) {
			w.Helper()
			expected := w.slot()
			wantChanged, wantBefore := expected.pause(on, w.now)
			changed, before, err := w.s.Pause(ctx, w.k, on)
			w.must(err == nil && changed == wantChanged && before.Equal(wantBefore), "%v, pause %v: %v, %v, %v", k, on, changed, before, err)
			expected.same(w.slot())
		}
		paused(false) // it is not
		paused(true)
		since := w.now
		w.later(10)
		paused(true)
		w.must(w.slot().since == since, "paused since %d, not %d", w.slot().since, since)
		b := w.turn(w.as("a", a.Fence), protocol.Paused) // what was in flight is finished
		w.must(len(w.slot().prepare) == 0, "%v: %+v", k, w.slot())
		paused(false)
		paused(false)
		w.turn(w.as("a", b.Fence), protocol.Batch)
		paused(true)
	}
}

// kill takes a content and buries it, and returns the number of the slot.
func (w *world) kill(number int64, x string) int64 {
	w.Helper()
	a := w.took(w.as("a", number), x)
	v := bury(x)
	v.Priority = a.Priority(0)
	return w.tells(protocol.Left, leaving(w.as("a", a.Fence, v)))
}

// takesOut requeues or removes dead contents, and compares what becomes of them.
func (w *world) takesOut(remove bool, give int64, want []byhand.DeadResult, dead ...byhand.DeadItem) {
	w.Helper()
	expected := w.slot()
	words := expected.takeOut(remove, w.topic == priorityKind, give, dead, w.now)
	var got []byhand.DeadResult
	var err error
	if remove {
		got, err = w.s.Delete(ctx, w.k, dead)
	} else {
		got, err = w.s.Requeue(ctx, w.k, w.topic == priorityKind, give, dead)
	}
	w.must(err == nil && slices.Equal(got, want) && slices.Equal(got, words), "%v: became %v, not %v, %v", w.topic, got, want, err)
	s := w.slot()
	expected.same(s)
	w.sound(s)
}

// sound holds a slot against the rules.
func (w *world) sound(s *slot) {
	w.Helper()
	b := s.rulesBroken(w.k, w.topic == priorityKind, true, w.now)
	w.must(b == nil, "%v: %s", w.topic, inWords(b))
}

// requeueAnew: whatever it died of, it has all its deliveries again.
func requeueAnew(w *world) {
	for _, k := range kinds {
		for _, delay := range []time.Duration{0, time.Second} {
			w.clean(k)
			w.put("m", "n") // n keeps its record
			number := w.took(w.as("a", 0), "m", "n").Fence
			for n := 1; n <= 17; n++ {
				verdicts := []protocol.Verdict{fail("m", delay)}
				if n == 1 {
					verdicts = append(verdicts, fail("n", time.Hour))
					verdicts[0].Priority = map[bool]int64{true: 50}[k == priorityKind]
				}
				number = w.tells(protocol.Left, leaving(w.as("a", number, verdicts...)))
				w.later(1000)
				if n < 17 {
					number = w.took(w.as("a", number), "m").Fence
				}
			}
			died := time.UnixMilli(w.slot().dead["m"])
			w.later(60_000)
			w.takesOut(false, 0, []byhand.DeadResult{byhand.Stored}, byhand.DeadItem{Content: "m", Died: died})
			s := w.slot()
			w.must(len(s.dead) == 0 && len(s.store) == 1 && s.why["m"] == "" && s.why["n"] != "", "%v: %+v", k, s)
			for n := 1; n <= 17; n++ {
				a := w.took(w.as("a", number), "m")
				w.must(a.Attempt == n && (n > 1 || a.Priority(0) == s.store["m"] || k != priorityKind), "%v: delivery %d: %+v", k, n, a)
				number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", delay))))
				w.later(1000)
			}
			s = w.slot()
			why, _ := protocol.ParseFailure(s.why["m"])
			w.must(len(s.dead) == 1 && why.Attempts == 17 && why.First.After(died), "%v: %+v", k, s)
			w.takesOut(true, 0, []byhand.DeadResult{byhand.Deleted}, byhand.DeadItem{Content: "m", Died: time.UnixMilli(s.dead["m"])})
			s = w.slot()
			w.must(len(s.dead)+len(s.store) == 0 && len(s.why) == 1, "%v: %+v", k, s)
		}
	}
}

func requeuePriorities(w *world) {
	word := func(x byhand.DeadResult) []byhand.DeadResult { return []byhand.DeadResult{x} }
	for _, sent := range []int64{17, 50, 1<<53 - 1} {
		w.clean(priorityKind)
		w.do("zadd", w.k.Store, sent, "m")
		number := w.kill(0, "m")
		m := byhand.DeadItem{Content: "m", Died: w.time()}
		w.takesOut(false, 0, word(byhand.Stored), m)
		w.must(w.slot().store["m"] == sent, "%v, not %d", w.slot().store, sent)
		number = w.kill(number, "m")
		w.takesOut(false, 1<<53-2, word(byhand.Stored), m)
		w.must(w.slot().store["m"] == 1<<53-2, "%v", w.slot().store)
		number = w.kill(number, "m")
		w.takesOut(true, 0, word(byhand.Deleted), m) // needs no priority

		// One that nobody knows: not told with a batch that is told again, or changed by hand.
		w.put("m", "n")
		a := w.took(w.as("a", number), "m", "n")
		w.tells(protocol.Left, leaving(w.as("a", a.Fence, bury("m"), bury("n"))))
		n := byhand.DeadItem{Content: "n", Died: w.time()}
		w.takesOut(false, 0, []byhand.DeadResult{byhand.Unknown, byhand.Unknown}, m, n)
		w.do("hset", w.k.Why, "n", "1 1700000000000 1700000000000 16 a it failed")
		w.takesOut(false, 0, word(byhand.Unknown), n)
		w.takesOut(false, 16, word(byhand.Unknown), n) // would be retries left
		w.takesOut(false, 17, []byhand.DeadResult{byhand.Stored, byhand.Stored}, m, n)
		w.must(w.slot().store["m"] == 17 && w.slot().store["n"] == 17, "%v", w.slot().store)
	}
}

// fiveHundred contents in one call, of all kinds of bytes.
func fiveHundred(w *world, remove bool) {
	for _, k := range kinds {
		w.clean(k)
		var dead []byhand.DeadItem
		pipe := w.rdb.Pipeline()
		for i := range 500 {
			x := fmt.Sprintf("%d\x00\xff\n", i)
			if i < len(anyBytes) {
				x = anyBytes[i]
			}
			died := w.now - int64(i)
			dead = append(dead, byhand.DeadItem{Content: x, Died: time.UnixMilli(died)})
			pipe.Do(ctx, "zadd", w.k.Dead, died, x)
			pipe.Do(ctx, "hset", w.k.Why, x, "17 1700000000000 1700000000000 50 a it failed\xff")
		}
		_, err := pipe.Exec(ctx)
		w.must(err == nil, "%v", err)
		word := map[bool]byhand.DeadResult{false: byhand.Stored, true: byhand.Deleted}[remove]
		w.takesOut(remove, 0, slices.Repeat([]byhand.DeadResult{word}, 500), dead...)
		s := w.slot()
		w.must(len(s.dead)+len(s.why) == 0 && len(s.store) == map[bool]int{false: 500}[remove], "%v: %d dead, %d records, %d stored", k, len(s.dead), len(s.why), len(s.store))
	}
}
