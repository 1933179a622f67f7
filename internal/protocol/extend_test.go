package protocol_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// Range merges whose time moves with each send, up to a ceiling.

func TestExtend(t *testing.T) { onEachServer(t, extendTrials) }

var extendTrials = []trial{
	{name: "extend: several at once", run: func(w *world) {
		w.clean(rangeMerge)
		now := w.now
		w.do("zadd", w.k.Store, now+50, "plain", now, "overdue", 16, "failed")
		told := w.extends(3, 100, "a", 300, now+70, "plain", "", 80, "overdue", 300, 90, "failed", 300, 100, "b", 300, 200, "a", 300)
		w.must(slices.Equal(told, []int64{-1, 100, 0, now + 50, 0, now, 1, now + 90, -1, 100, -1, 200}), "full: %v", told)
		told = w.extends(5, 100, "a", 300, 100, "b", 300, 100, "c", 300, 200, "a", 300)
		w.must(slices.Equal(told, []int64{1, now + 100, 1, now + 100, -1, 100, 0, now + 200}), "%v", told)
		w.later(150)
		told = w.extends(0, 200, "a", 300, 200, "plain", 300)
		w.must(slices.Equal(told, []int64{0, now + 300, 0, now + 50}), "%v", told)
		w.must(maps.Equal(w.slot().firsts, map[string]int64{"a": now, "b": now, "failed": now}), "%v", w.slot().firsts)
		w.do("zadd", w.first, w.now-100, "left") // of an earlier wait
		told = w.extends(0, 100, "left", 250, 200, "left", 250)
		w.must(slices.Equal(told, []int64{1, w.now + 100, 0, w.now + 200}), "%v", told)
	}},
	{name: "extend: leftovers", run: func(w *world) {
		w.clean(rangeMerge)
		for i := range 25 {
			w.do("zadd", w.first, w.now-100+int64(i), fmt.Sprintf("%02d", i))
		}
		w.do("zadd", w.k.Store, w.now+5, "03", 7, "04")
		for before := 25; before > 2; before = len(w.slot().firsts) {
			w.extends(0, 100, "x", 300)
			n, left := len(w.slot().firsts), max(before-6+3, 2) // of the six it looks at, two wait, and one is new
			w.must(n <= left && n >= before-6, "%d are left of %d", n, before)
			w.later(1)
		}
		w.must(w.slot().firsts["03"] > 0, "what waits is gone: %v", w.slot().firsts)
	}},
	{name: "extend: leftovers of many", run: func(w *world) {
		w.clean(rangeMerge)
		for i := range 60 {
			w.do("zadd", w.first, w.now-100, fmt.Sprintf("%02d", i))
		}
		many := make([]message, 20)
		for i := range many {
			many[i] = message{content: fmt.Sprint("new ", i), score: 100, ceiling: 300}
		}
		for range 4 { // it looks at two for each message and four more, so they do not pile up
			w.sendAll(protocol.SendCeiling, false, 0, many...)
			w.later(1)
		}
		n := len(w.slot().firsts)
		w.must(n == 20, "%d are left", n)
	}},
	{name: "extend: leftovers beside what waits far ahead", run: func(w *world) {
		w.clean(rangeMerge)
		for i, since := range []int64{w.now - 1000, w.now + 1e9} { // the eldest, and others of a clock that was ahead
			for j := range 20 {
				x := fmt.Sprint("far ", i, j)
				w.do("zadd", w.k.Store, w.now+1e10, x)
				w.do("zadd", w.first, since, x)
			}
		}
		for i := range 300 {
			x := fmt.Sprint(i)
			w.extends(0, 100, x, 300)
			w.do("zrem", w.k.Store, x) // it is handled
			w.later(1 + int64(i%7))
			n := len(w.slot().firsts)
			w.must(n <= 2*40, "%d are left where 40 wait", n)
		}
	}},
	{name: "extend: put back", run: func(w *world) {
		w.clean(rangeMerge)
		since := w.now
		w.extends(0, 100, "x", 300)
		w.do("zrem", w.k.Store, "x")
		w.do("zadd", w.k.Prepare, 1, "x") // its handler runs
		for i := range 50 {
			w.extends(0, 100, fmt.Sprint(i%3), 300) // and others are sent
			w.later(1)
		}
		w.do("zrem", w.k.Prepare, "x")
		w.do("zadd", w.k.Store, w.now+10, "x") // it is put back
		w.later(5)
		told := w.extends(0, 1000, "x", 300)
		w.must(told[1] == since+300, "due %d ms after its first send", told[1]-since)
	}},
	{name: "extend: parts of a ms", run: func(w *world) {
		w.clean(rangeMerge)
		w.do("set", w.clock, fmt.Sprint(w.now, ".25"))
		w.clockSet = 0
		for range 2 {
			if told := w.extends(0, 100, "x", 300); told[1] != w.now+101 {
				w.Fatalf("never early: due at %d, sent at %d.25", told[1], w.now)
			}
		}
		due := w.do("zscore", w.k.Store, "x")
		w.must(due == float64(w.now+101), "%v", due)
	}},
	{name: "extend: a full server", live: true, run: func(w *world) {
		w.clean(rangeMerge)
		w.do("zadd", w.first, w.now-100, "left")
		w.do("config", "set", "maxmemory", "1")
		cmd := redis.NewIntSliceCmd(ctx, append(w.s.SendArgs(w.k.Store, protocol.SendCeiling, false, 0), 100, "x", 300)...)
		w.s.Exec(ctx, cmd)
		w.do("config", "set", "maxmemory", "0")
		s := w.slot()
		w.must(cmd.Err() != nil && strings.Contains(cmd.Err().Error(), "OOM") && len(s.store) == 0 && len(s.firsts) == 1, "%v: %v, %v", cmd, s.store, s.firsts)
	}},
	{name: "wrong type: extend", run: func(w *world) {
		w.clean(rangeMerge)
		w.do("set", w.first, "of another program")
		cmd := redis.NewIntSliceCmd(ctx, append(w.s.SendArgs(w.k.Store, protocol.SendCeiling, false, 0), w.now+5, "plain", "", 100, "x", 300)...)
		w.s.Exec(ctx, cmd)
		n := w.do("exists", w.k.Store)
		w.must(cmd.Err() != nil && n == int64(0), "%v: %v stored", cmd, n)
		w.do("del", w.first)
		w.do("set", w.k.Prepare, "of another program")
		cmd = redis.NewIntSliceCmd(ctx, append(w.s.SendArgs(w.k.Store, protocol.SendCeiling, false, 0), 100, "x", 300)...)
		w.s.Exec(ctx, cmd)
		n = w.do("exists", w.k.Store, w.first)
		w.must(cmd.Err() != nil && n == int64(0), "%v: %v stored", cmd, n)
	}},
}

// extends calls send.lua with a score or range, content, and ceiling of each message.
func (w *world) extends(most int, messages ...any) []int64 {
	cmd := redis.NewIntSliceCmd(ctx, append(w.s.SendArgs(w.k.Store, protocol.SendCeiling, false, most), messages...)...)
	w.s.Exec(ctx, cmd)
	w.must(cmd.Err() == nil && len(cmd.Val()) == len(messages)/3*2, "%v", cmd)
	return cmd.Val()
}

// The property, over thousands of random sequences of sends, and by night 10^5, with handling in between,
// some of it in vain: due no later than the ceiling after the first send of the wait, and no earlier than
// the range after the last, unless the ceiling wants it. What is overdue keeps its time. A full slot
// refuses what is new to it.
func TestExtendInAnyOrder(t *testing.T) {
	t.Parallel()
	rounds, contents := night.Times(8, 100), 1000
	w := newWorld(t, near(t), 0, nil)
	random := sharetest.Rand(t)
	happened := map[string]int{}
	for round := range rounds {
		w.clean(rangeMerge)
		literal, most := round%2 == 0, 0
		if round%4 < 2 {
			most = contents / 2
		}
		waits := make([]extending, contents)
		for i := range waits {
			waits[i].step = 1 + random.Int64N(1000)
			waits[i].ceiling = waits[i].step + 1 + random.Int64N(3000)
		}
		held := 0
		for range 12 {
			w.later(1 + random.Int64N(600))
			var sent []int
			var messages []any
			for i := range waits {
				if random.IntN(2) == 0 {
					sent, messages = append(sent, i), append(messages, waits[i].step, fmt.Sprint(i), waits[i].ceiling)
				}
			}
			told := w.extends(most, messages...)
			for n, i := range sent {
				x, outcome, due := &waits[i], protocol.SendOutcome(told[2*n]), told[2*n+1]
				what := x.sent(w.now, most > 0 && held == most, outcome, due)
				w.must(what != "", "round %d, %d: outcome %d, due %d at %d, full %d of %d: %+v", round, i, outcome, due, w.now, held, most, x)
				happened[what]++
				if outcome == protocol.SendRefused {
					continue
				}
				if x.score == 0 {
					held++
				}
				x.score = due
			}
			if random.IntN(3) == 0 {
				continue
			}
			w.do("zremrangebyscore", w.k.Store, 17, w.now) // what is due is handled
			for i := range waits {
				x := &waits[i]
				switch due := x.score > 16 && x.score <= w.now; {
				case due && literal && random.IntN(2) == 0:
					x.score = 1 + random.Int64N(16)
					w.do("zadd", w.k.Store, x.score, fmt.Sprint(i))
				case due:
					x.score = 0
					held--
				}
			}
		}
		stored, want := w.slot().store, map[string]int64{}
		for i, x := range waits {
			if x.score > 0 {
				want[fmt.Sprint(i)] = x.score
			}
		}
		w.must(maps.Equal(stored, want), "round %d: stored are %v, not %v", round, stored, want)
	}
	t.Logf("%d sequences: %v", rounds*contents, happened)
	for _, what := range []string{"stored", "after a failure", "moved", "stopped by the ceiling", "overdue", "refused"} {
		if happened[what] == 0 {
			t.Errorf("not all of it happened: %s", what)
		}
	}
}

// extending is one content that is sent again and again, always in the same way.
type extending struct {
	step, ceiling int64
	score         int64 // in the store; 0: it is not there, up to 16: it failed
	first         int64 // when the first send of this wait was
}

// sent says what a send at now did, and "" if it broke a promise.
func (x *extending) sent(now int64, full bool, outcome protocol.SendOutcome, due int64) string {
	begins := x.score <= 16
	if begins && outcome == protocol.SendStored {
		x.first = now
	}
	switch latest := x.first + x.ceiling; {
	case x.score == 0 && full:
		return when(outcome == protocol.SendRefused, "refused")
	case begins != (outcome == protocol.SendStored) || !begins && outcome != protocol.SendMerged:
		return ""
	case begins && x.score > 0:
		return when(due == now+x.step, "after a failure")
	case begins:
		return when(due == now+x.step, "stored")
	case x.score <= now:
		return when(due == x.score, "overdue")
	case due < now+x.step:
		return when(due == latest, "stopped by the ceiling")
	default:
		return when(due == now+x.step && due <= latest, "moved")
	}
}

func when(kept bool, what string) string {
	if kept {
		return what
	}
	return ""
}
