package protocol_test

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// What is sent again and again, by plans.

func TestPlans(t *testing.T) { onEachServer(t, planTrials) }

var planTrials = []trial{
	{name: "plan: from the first to the last", run: func(w *world) {
		w.clean(fixedTime)
		w.sets(protocol.PlanAdded, "nightly", `{"period": "1h"}`, w.now+1000)
		w.sets(protocol.PlanKept, "nightly", `{"period": "1h"}`, w.now+5000)
		due := w.due(10)
		w.must(len(due.List) == 0 && due.Next.UnixMilli() == w.now+1000, "%+v", due)
		w.later(1000)
		first := w.due(10).List[0]
		w.must(first.Rule == `1700000000000 {"period": "1h"}`, "%+v", first)
		w.fires(protocol.PlanFired, first, w.now+1000, "report", first.At.UnixMilli())
		w.fires(protocol.PlanStale, first, w.now+1000, "report", first.At.UnixMilli())
		w.later(1000)
		second := w.due(10).List[0]
		w.fires(protocol.PlanWaits, second, w.now+1000, "report", second.At.UnixMilli())
		w.must(w.slot().store["report"] == first.At.UnixMilli(), "%v", w.slot().store)
		w.took(w.as("a", 0), "report")
		w.later(1000)
		w.fires(protocol.PlanSkipped, w.due(10).List[0], w.now, "", 0)
		w.must(len(w.slot().store) == 0, "%v", w.slot().store)
		w.fires(protocol.PlanFired, w.due(10).List[0], 0, "report", w.now)
		due = w.due(10)
		w.must(len(due.List) == 0 && due.Next.IsZero(), "after its end: %+v", due)
		w.sets(protocol.PlanKept, "nightly", `{"period": "1h"}`, w.now+5000)
		w.must(len(w.slot().plans) == 0 && len(w.slot().rules) == 1, "begun again: %+v", w.slot())
	}},
	{name: "plan: another rule", run: func(w *world) {
		w.clean(fixedTime)
		w.sets(protocol.PlanNever, "p", "a\nb", 0)
		w.sets(protocol.PlanAdded, "p", "a\nb", w.now)
		w.sets(protocol.PlanKept, "p", "a\nb", 0)
		old := w.due(1).List[0]
		w.sets(protocol.PlanNever, "p", "b", 0)
		w.sets(protocol.PlanChanged, "p", "b", w.now)
		w.fires(protocol.PlanStale, old, w.now+1000, "x", w.now)
		w.sets(protocol.PlanChanged, "p", "a", w.now) // a part of the first one
		w.must(len(w.slot().store) == 0, "%v", w.slot().store)
	}},
	{name: "plan: what the rule before owes", run: func(w *world) {
		for _, owes := range []bool{true, false} {
			w.clean(fixedTime)
			w.sets(protocol.PlanAdded, "p", "old", w.now+10)
			at := w.now + 10
			if w.later(9); owes {
				w.later(1)
			}
			read := w.slot()
			w.sets(protocol.PlanChanged, "p", "new", w.now+1000)
			due := w.due(1).List
			w.must(len(due) == 1 == owes, "%+v", due)
			if owes {
				w.must(due[0].At.UnixMilli() == at && strings.HasSuffix(due[0].Rule, " new"), "%+v", due)
			}
			got, err := w.s.SetPlan(ctx, w.plans, "p", "newer", "1", w.now, read.stands("p"))
			w.must(got == protocol.PlanStale && err == nil, "as it was read before: %s, %v", got, err)
		}
	}},
	{name: "plan: many are due", run: func(w *world) {
		w.clean(fixedTime)
		for i, name := range []string{"a", "b", "c"} {
			w.sets(protocol.PlanAdded, name, "rule", w.now+int64(10*i))
		}
		w.later(10)
		for most, want := range map[int]int{1: 1, 2: 2, 3: 2} {
			due := w.due(most)
			next := w.now
			if most > 1 {
				next += 10
			}
			w.must(len(due.List) == want && due.Next.UnixMilli() == next, "%d: %+v", most, due)
		}
		w.do("zadd", w.plans.Plan, "inf", "c")
		w.must(w.due(3).Next.UnixMilli() == w.now+1e12, "endless: %+v", w.due(3))
		w.do("zadd", w.plans.Plan, "1700000000010.5", "c")
		w.must(w.due(3).Next.UnixMilli() == w.now+1, "a part of a ms: %+v", w.due(3))
	}},
	{name: "plan: any score of another program", run: func(w *world) {
		w.clean(fixedTime)
		w.sets(protocol.PlanAdded, "p", "rule", w.now)
		for _, score := range []any{"-inf", 0, "1.5", -7} {
			w.do("zadd", w.plans.Plan, score, "p")
			w.fires(protocol.PlanFired, w.due(1).List[0], w.now+1, "x", w.now)
			w.do("del", w.k.Store)
		}
		w.do("hdel", w.plans.Rule, "p")
		w.do("zadd", w.plans.Plan, w.now, "p")
		o := w.due(1).List[0]
		w.must(o.Rule == "", "%+v", o)
		w.fires(protocol.PlanStale, o, 0, "x", w.now)
		stopped, err := w.s.StopPlan(ctx, w.plans, "p", "")
		w.must(stopped && err == nil && len(w.slot().plans) == 0, "%v, %v", stopped, err)
	}},
	{name: "plan: a failed copy", run: func(w *world) {
		for score := int64(1); score <= 17; score++ {
			w.clean(priorityKind)
			w.do("zadd", w.k.Store, score, "x")
			w.sets(protocol.PlanAdded, "p", "rule", w.now)
			want, after := protocol.PlanFired, int64(99)
			if score == 17 {
				want, after = protocol.PlanWaits, 17
			}
			w.fires(want, w.due(1).List[0], 0, "x", 99)
			w.must(w.slot().store["x"] == after, "%d: %v", score, w.slot().store)
		}
	}},
	{name: "plan: notes", run: func(w *world) {
		w.clean(fixedTime)
		plain := w.plans
		w.plans = protocol.KeysOf("world", 3).Plans(true)
		defer func() { w.plans = plain }()
		w.do("hset", w.plans.Note, "x", "of an older copy", "y", "of another")
		w.do("zadd", w.k.Store, w.now+5, "x")
		w.sets(protocol.PlanAdded, "p", "rule", w.now)
		w.fires(protocol.PlanWaits, w.due(1).List[0], w.now, "x", w.now)
		w.must(w.do("hget", w.plans.Note, "x") == "of an older copy" && w.do("hlen", w.plans.Note) == int64(2), "of what waits")
		for _, headers := range []string{"", ` {"a":"1 2 3 4 5 6"}`} {
			w.do("hset", w.plans.Note, "x", "1 2 3 4 5"+headers)
			w.fires(protocol.PlanWaits, w.due(1).List[0], w.now, "x", w.now)
			w.must(w.do("hget", w.plans.Note, "x") == "1 2 3 4 0"+headers, "it ends, or is another: %v", w.do("hget", w.plans.Note, "x"))
		}
		w.fires(protocol.PlanWaits, w.due(1).List[0], w.now, "x", w.now)
		w.fires(protocol.PlanStale, protocol.Occurrence{Name: "p", Rule: "another"}, w.now, "x", w.now)
		w.do("del", w.k.Store)
		w.fires(protocol.PlanFired, w.due(1).List[0], w.now, "x", w.now)
		w.must(w.do("hexists", w.plans.Note, "x") == int64(0) && w.do("hexists", w.plans.Note, "y") == int64(1), "%v", w.do("hgetall", w.plans.Note))
	}},
	{name: "plan: stop", run: func(w *world) {
		w.clean(fixedTime)
		w.sets(protocol.PlanAdded, "p", "rule", w.now)
		o := w.due(1).List[0]
		for _, c := range []struct {
			name, rule string
			want       bool
		}{{"q", "", false}, {"p", "rule", false}, {"p", o.Rule, true}, {"p", "", false}} {
			stopped, err := w.s.StopPlan(ctx, w.plans, c.name, c.rule)
			w.must(stopped == c.want && err == nil, "%+v: %v, %v", c, stopped, err)
		}
		w.fires(protocol.PlanStale, o, w.now, "x", w.now)
		w.sets(protocol.PlanAdded, "p", "rule", w.now)
	}},
	{name: "plan: a full server", live: true, run: func(w *world) {
		w.clean(fixedTime)
		w.sets(protocol.PlanAdded, "p", "rule", w.now)
		o, before := w.due(1).List[0], w.slot()
		w.do("config", "set", "maxmemory", "1")
		_, fired := w.s.FirePlan(ctx, w.plans, o, 0, "x", w.now)
		_, set := w.s.SetPlan(ctx, w.plans, "q", "rule", "1", w.now, protocol.PlanStand{})
		due, err := w.s.DuePlans(ctx, w.plans, 1)
		after := w.slot()
		stopped, stop := w.s.StopPlan(ctx, w.plans, "p", "")
		w.do("config", "set", "maxmemory", "0")
		w.must(full(fired) && full(set), "fire: %v, set: %v", fired, set)
		w.must(maps.Equal(before.plans, after.plans) && maps.Equal(before.rules, after.rules) && len(after.store) == 0, "%+v", after)
		w.must(err == nil && len(due.List) == 1 && stop == nil && stopped, "due: %v, stop: %v", err, stop)
	}},
	{name: "wrong type: plan", run: func(w *world) {
		plain := w.plans
		w.plans = protocol.KeysOf("world", 3).Plans(true)
		defer func() { w.plans = plain }()
		for _, key := range []string{w.k.Store, w.plans.Plan, w.plans.Rule, w.plans.Note} {
			w.clean(fixedTime)
			w.sets(protocol.PlanAdded, "p", "rule", w.now)
			o, before := w.due(1).List[0], w.slot()
			w.breakKey(key)
			calls := []string{"set", "due", "fire", "stop"}
			if key == w.k.Store || key == w.plans.Note { // at which nothing else looks
				calls = []string{"fire"}
			}
			for _, what := range calls {
				err := planCalls[what](w.s, ctx, w.plans)
				w.must(err != nil && strings.Contains(err.Error(), "world_3"), "wrong %s: %s: %v", key, what, err)
			}
			w.repairKey(key)
			after := w.slot()
			w.must(maps.Equal(before.plans, after.plans) && maps.Equal(before.rules, after.rules) && len(after.store) == 0, "wrong %s: %+v", key, after)
			w.fires(protocol.PlanFired, o, w.now+1, "x", w.now)
		}
	}},
}

// planCalls are the methods of plan.lua.
var planCalls = map[string]func(s *scripts, ctx context.Context, k protocol.PlanKeys) error{
	"set": func(s *scripts, ctx context.Context, k protocol.PlanKeys) error {
		_, err := s.SetPlan(ctx, k, "p", "another rule", "1", startOfTime+1, protocol.PlanStand{})
		return err
	},
	"due": func(s *scripts, ctx context.Context, k protocol.PlanKeys) error {
		_, err := s.DuePlans(ctx, k, 1)
		return err
	},
	"fire": func(s *scripts, ctx context.Context, k protocol.PlanKeys) error {
		_, err := s.FirePlan(ctx, k, protocol.Occurrence{Name: "p"}, 0, "x", startOfTime)
		return err
	},
	"stop": func(s *scripts, ctx context.Context, k protocol.PlanKeys) error {
		_, err := s.StopPlan(ctx, k, "p", "")
		return err
	},
}

func full(err error) bool { return err != nil && strings.Contains(err.Error(), "OOM") }

// sets sets a rule, which must be answered so.
func (w *world) sets(want protocol.PlanAnswer, name, rule string, next int64) {
	w.Helper()
	state := w.slot()
	got, err := w.s.SetPlan(ctx, w.plans, name, rule, strconv.FormatInt(w.now, 10), next, state.stands(name))
	w.must(err == nil && got == want, "set plan %s to %q: %s, %v", name, rule, got, err)
}

func (w *world) due(most int) protocol.Due {
	w.Helper()
	d, err := w.s.DuePlans(ctx, w.plans, most)
	w.must(err == nil && d.Now.Equal(time.UnixMilli(w.now)), "%+v, %v", d, err)
	return d
}

// fires sends an occurrence, which must be answered so.
func (w *world) fires(want protocol.PlanAnswer, o protocol.Occurrence, next int64, content string, score int64) {
	w.Helper()
	got, err := w.s.FirePlan(ctx, w.plans, o, next, content, score)
	w.must(err == nil && got == want, "send %s by %+v: %s, %v", content, o, got, err)
}
