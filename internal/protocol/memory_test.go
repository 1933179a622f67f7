package protocol_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// Above maxmemory Redis refuses a script whose first write adds something.
// Everything of a consumer must pass, or a full Redis could never be drained.

func TestMaxMemory(t *testing.T) { onEachServer(t, memoryTrials) }

var memoryTrials = []trial{
	{name: "full: take, told again, touch", live: true, run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.put("m", "n")
			w.lease = 2 * time.Second
			w.full(true)
			_, err := w.rdb.Do(ctx, "zadd", w.k.Store, 50, "new").Result()
			w.must(err != nil && strings.HasPrefix(err.Error(), "OOM"), "a send passes: %v", err)
			err = w.s.rdb.Do(ctx, append(w.s.AddArgs(w.k.Store, false, 0), 50, "m")...).Err()
			w.must(err == nil, "a merge, which writes nothing: %v", err)
			err = w.s.rdb.Do(ctx, append(w.s.AddArgs(w.k.Store, false, 0), 50, "new")...).Err()
			w.must(err != nil && strings.HasPrefix(err.Error(), "OOM"), "a send by the script passes: %v", err)
			a := w.took(w.as("a", 0), "m", "n")
			w.took(w.as("a", 0), "m", "n")
			held, err := w.s.Touch(ctx, w.k, "a", a.Fence)
			w.must(held && err == nil, "touch: %v, %v", held, err)
			w.full(false)
		}
	}},
	{name: "full: a retry is taken", live: true, run: func(w *world) {
		for _, delay := range []time.Duration{0, time.Second} {
			for _, k := range kinds {
				w.clean(k)
				w.put("m")
				a := w.took(w.as("a", 0), "m")
				number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", delay))))
				w.later(1000)
				w.full(true)
				w.took(w.as("a", number), "m")
				w.full(false)
			}
		}
	}},
	{name: "full: put back, and back in its place", live: true, run: func(w *world) {
		w.clean(priorityKind)
		w.put("m")
		a := w.took(w.as("a", 0), "m")
		w.full(true)
		number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, later("m", time.Second, 50))))
		w.full(false)
		w.later(1000)
		w.full(true)
		w.took(w.as("a", number), "m")
		w.full(false)
	}},
	{name: "full: finish", live: true, run: finishWhenFull},
	{name: "full: take-over", live: true, run: func(w *world) {
		for _, delay := range []time.Duration{0, time.Second} {
			for _, k := range kinds {
				w.clean(k)
				w.put("m")
				w.crash = delay
				w.took(w.as("a", 0), "m")
				w.full(true)
				w.tells(protocol.Number, knowing("a", w.as("b", 0)))
				w.full(false)
			}
		}
	}},
	{name: "full: leave", live: true, run: func(w *world) {
		w.clean(rangeMerge)
		w.put("m")
		a := w.took(w.as("a", 0), "m")
		w.full(true)
		number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", time.Second))))
		w.tells(protocol.Left, leaving(w.as("a", number)))
		w.full(false)
		w.must(w.slot().holder == "", "still held")
	}},
	{name: "full: busy after the clock stepped back", live: true, run: func(w *world) {
		w.clean(rangeMerge)
		w.put("m")
		w.lease = time.Second
		w.took(w.as("a", 0), "m")
		w.later(-time.Hour.Milliseconds())
		w.full(true)
		w.turn(w.as("b", 0), protocol.Busy)
		w.full(false)
	}},
	{name: "full: cancel", live: true, run: func(w *world) {
		w.clean(rangeMerge)
		w.put("m")
		w.full(true)
		removed, _, err := w.s.Cancel(ctx, w.k, false, "m")
		w.full(false)
		w.must(removed && err == nil, "cancel: %v, %v", removed, err)
	}},
	{name: "full: cancel in flight", live: true, run: func(w *world) {
		w.clean(rangeMerge)
		w.put("m")
		a := w.took(w.as("a", 0), "m")
		w.full(true)
		_, flying, err := w.s.Cancel(ctx, w.k, false, "m")
		w.full(false)
		w.must(flying && err == nil, "cancel: %v, %v", flying, err)
		_, asked, err := w.s.Keep(ctx, w.k, "a", a.Fence, true)
		w.must(err == nil && asked.Has("m"), "%q, %v", asked, err)
	}},
	{name: "full: define an existing topic", live: true, run: func(w *world) {
		w.clean(rangeMerge)
		want := protocol.Definition{Kind: "range-merge", Slots: 4, Layout: 1}
		_, err := w.s.Define(ctx, "world", want)
		w.must(err == nil, "define: %v", err)
		w.do("hdel", protocol.DefinitionKey("world"), "namespace") // a restore did not know it
		w.full(true)
		for i := range 5 {
			switch i { // the first program fills in its namespace, the first worker how it shares, and then where
			case 1:
				want.Sharing = "zookeeper"
			case 2:
				want.Tree = "t"
			case 3:
				want.MaxLate = time.Minute
			}
			asked := want
			if i < 3 {
				asked.MaxLate = -1 // it does not tell yet
			}
			got, err := w.s.Define(ctx, "world", asked)
			if err != nil || got != want {
				w.full(false)
			}
			w.must(err == nil && got == want, "define: %+v, %v", got, err)
		}
		w.full(false)
	}},
	{name: "full: define again what is missing", live: true, run: func(w *world) {
		for _, listed := range []bool{true, false} {
			w.clean(rangeMerge)
			if w.do("del", protocol.TopicsKey); listed {
				w.do("sadd", protocol.TopicsKey, "world")
			}
			want := protocol.Definition{Kind: "range-merge", Slots: 4, Layout: 1}
			w.full(true)
			got, err := w.s.Define(ctx, "world", want)
			w.full(false)
			w.must(err == nil && got == want, "define, in the list of topics %t: %+v, %v", listed, got, err)
		}
	}},
}

// full makes Redis refuse whatever adds something.
func (w *world) full(on bool) {
	w.Helper()
	limit := "0"
	if on {
		limit = "1"
	}
	w.do("config", "set", "maxmemory", limit)
}

// finishWhenFull finishes with everything a batch can end with.
func finishWhenFull(w *world) {
	for _, k := range kinds {
		for name, end := range map[string]protocol.Verdict{
			"failed":                  fail("m", time.Second),
			"failed, literal":         fail("m", 0),
			"dead":                    bury("m"),
			"handed back":             giveBack("m", 50),
			"handed back, not known":  giveBack("m", 0),
			"put back":                later("m", time.Second, 50),
			"done, and was a failure": {},
		} {
			w.clean(k)
			w.put("m")
			a := w.took(w.as("a", 0), "m")
			if end.Reason == "" {
				number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", time.Second))))
				w.later(1000)
				a = w.took(w.as("a", number), "m")
			}
			t := leaving(w.as("a", a.Fence))
			if end.Reason != "" {
				t.Verdicts = []protocol.Verdict{end}
			}
			expected := w.slot()
			w.full(true)
			answer, err := w.s.Turn(ctx, t)
			w.full(false)
			w.must(err == nil, "%v, %s: %v", k, name, err)
			expected.turn(t, w.now, answer)
			expected.same(w.slot())
		}
	}
}
