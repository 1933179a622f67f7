package luascripts_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/luascripts"
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
	}},
	{name: "extend: leftovers", run: func(w *world) {
		w.clean(rangeMerge)
		for i := range 25 {
			w.do("zadd", w.first, w.now-100+int64(i), fmt.Sprintf("%02d", i))
		}
		w.do("zadd", w.k.Store, w.now+5, "03", 7, "04")
		for _, left := range []int{25 - 9 + 1, 25 - 18 + 1, 2, 2} {
			w.extends(0, 100, "x", 300)
			n := len(w.slot().firsts)
			w.must(n == left, "%d are left, not %d", n, left)
		}
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
		cmd := redis.NewIntSliceCmd(ctx, append(w.s.SendEachArgs(w.k.Store, w.first, false, 0), 100, "x", 300)...)
		w.s.Exec(ctx, cmd)
		w.do("config", "set", "maxmemory", "0")
		s := w.slot()
		w.must(cmd.Err() != nil && strings.Contains(cmd.Err().Error(), "OOM") && len(s.store) == 0 && len(s.firsts) == 1, "%v: %v, %v", cmd, s.store, s.firsts)
	}},
	{name: "wrong type: extend", run: func(w *world) {
		w.clean(rangeMerge)
		w.do("set", w.first, "of another program")
		cmd := redis.NewIntSliceCmd(ctx, append(w.s.SendEachArgs(w.k.Store, w.first, false, 0), w.now+5, "plain", "", 100, "x", 300)...)
		w.s.Exec(ctx, cmd)
		n := w.do("exists", w.k.Store)
		w.must(cmd.Err() != nil && n == int64(0), "%v: %v stored", cmd, n)
	}},
}

// extends calls send.lua with a score or range, content, and ceiling of each message.
func (w *world) extends(most int, messages ...any) []int64 {
	cmd := redis.NewIntSliceCmd(ctx, append(w.s.SendEachArgs(w.k.Store, w.first, false, most), messages...)...)
	w.s.Exec(ctx, cmd)
	w.must(cmd.Err() == nil && len(cmd.Val()) == len(messages)/3*2, "%v", cmd)
	return cmd.Val()
}

// The property, over 10^5 random sequences of sends with handling in between: due no later than the
// ceiling after the first send of the wait, and no earlier than the range after the last, unless the
// ceiling wants it; what is overdue keeps its time.
func TestExtendInAnyOrder(t *testing.T) {
	rounds, contents := 100, 1000
	if underRace || testing.Short() {
		rounds = 5
	}
	w := newWorld(t, servertest.Redis(t).Client(t), 0, nil)
	random := sharetest.Rand(t)
	type wait struct{ first, due, step, ceiling int64 }
	moved, capped, overdue := 0, 0, 0
	for round := range rounds {
		w.clean(rangeMerge)
		waits := make([]wait, contents)
		for i := range waits {
			waits[i].step = 1 + random.Int64N(1000)
			waits[i].ceiling = waits[i].step + 1 + random.Int64N(3000)
		}
		for range 12 {
			w.later(1 + random.Int64N(600))
			var sent []int
			var messages []any
			for i := range waits {
				if random.IntN(2) == 0 {
					sent, messages = append(sent, i), append(messages, waits[i].step, fmt.Sprint(i), waits[i].ceiling)
				}
			}
			told := w.extends(0, messages...)
			for n, i := range sent {
				x, outcome, due := &waits[i], told[2*n], told[2*n+1]
				switch {
				case x.due == 0:
					w.must(outcome == int64(luascripts.SendStored) && due == w.now+x.step, "round %d, %d: stored for %d at %d: %+v", round, i, due, w.now, x)
					x.first = w.now
				case x.due <= w.now:
					w.must(due == x.due, "round %d, %d: overdue, and moved to %d at %d: %+v", round, i, due, w.now, x)
					overdue++
				case due == x.first+x.ceiling:
					w.must(due <= w.now+x.step, "round %d, %d: beyond its range for %d at %d: %+v", round, i, due, w.now, x)
					capped++
				default:
					w.must(due == w.now+x.step && due < x.first+x.ceiling, "round %d, %d: moved to %d at %d: %+v", round, i, due, w.now, x)
					moved++
				}
				x.due = due
			}
			if random.IntN(3) > 0 { // what is due is handled
				w.do("zremrangebyscore", w.k.Store, "-inf", w.now)
				for i := range waits {
					if waits[i].due <= w.now {
						waits[i].due = 0
					}
				}
			}
		}
	}
	t.Logf("%d sequences: %d moved, %d stopped by the ceiling, %d overdue", rounds*contents, moved, capped, overdue)
	if moved == 0 || capped == 0 || overdue == 0 {
		t.Error("not all of it happened")
	}
}
