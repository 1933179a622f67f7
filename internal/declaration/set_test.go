package declaration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

var ctx = context.Background()

// onEach runs a test on a Redis and on a Cluster that it has for itself.
func onEach(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	on := func(rdb redis.UniversalClient) *world {
		return &world{t: t, UniversalClient: rdb, Plans: Plans{
			Redis: rdb, Scripts: protocol.New(rdb), Topic: message.Topic{Name: "orders", Kind: message.KindFixedTime, Slots: 8},
		}}
	}
	t.Run("redis", func(t *testing.T) { test(t, on(servertest.LentRedis(t).Client(t))) })
	t.Run("cluster", func(t *testing.T) { test(t, on(servertest.LentCluster(t).Client(t))) })
}

// world is a topic and its plans.
type world struct {
	t *testing.T
	redis.UniversalClient
	Plans
}

// of are the keys of the plans in the slot of a content.
func (w *world) of(content string) protocol.PlanKeys {
	return w.keys(slots.Of(content, w.Topic.Slots))
}

// sets sets a plan, which must be answered so, and returns what is there then.
func (w *world) sets(want Change, m message.Recurring) held {
	w.t.Helper()
	rule, err := plan.New(w.Topic, m, 1000)
	must.Do(w.t, err)
	if _, got, err := w.Plans.Set(ctx, rule); err != nil || got != want {
		w.t.Errorf("set %+v: %v, %v, want %v", m, got, err, want)
	}
	all, err := w.named(ctx, m.Name)
	must.Do(w.t, err)
	if len(all) != 1 || all[0].Rule.Message() != m {
		w.t.Fatalf("%+v, not %+v", all, m)
	}
	must.Do(w.t, w.stands(ctx, m.Name, &all[0]))
	return all[0]
}

// puts writes a rule by hand.
func (w *world) puts(content, since, rule string, next time.Time) {
	w.t.Helper()
	must.Do(w.t, w.SAdd(ctx, protocol.PlansKey("orders"), slots.Of(content, w.Topic.Slots)).Err())
	must.Do(w.t, w.HSet(ctx, w.of(content).Rule, "p", since+" "+rule).Err())
	w.moves(content, next)
}

// moves moves a plan by hand.
func (w *world) moves(content string, next time.Time) {
	w.t.Helper()
	must.Do(w.t, w.ZAdd(ctx, w.of(content).Plan, redis.Z{Member: "p", Score: float64(next.UnixMilli())}).Err())
}

// clears forgets the plans of some contents.
func (w *world) clears(contents ...string) {
	w.t.Helper()
	for _, content := range contents {
		must.Do(w.t, w.Del(ctx, w.of(content).Rule).Err())
		must.Do(w.t, w.Del(ctx, w.of(content).Plan).Err())
	}
}

// What a rule owes is sent by the one that takes its place, in its slot or in another.
func TestSetOwes(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		r := message.Recurring{Name: "p", Content: "a", Cron: "0 3 * * *"}
		owed := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
		for what, change := range map[string]func(){
			"until when":          func() { r.Until = time.Now().AddDate(1, 0, 0).Truncate(time.Second).UTC() },
			"its times":           func() { r.Cron = "0 4 * * *" },
			"what is sent, there": func() { r.SlotBasis, r.Content = "a", "b" },
			"its slot":            func() { r.Content = "b" },
		} {
			r = message.Recurring{Name: "p", Content: "a", Cron: "0 3 * * *"}
			w.sets(Added, r)
			w.moves("a", owed)
			change()
			if x := w.sets(Replaced, r); !x.Next.Equal(owed) {
				t.Errorf("%s: it comes at %v, and owes %v", what, x.Next, owed)
			}
			w.clears("a", "b")
		}
	})
}

// Programs set different rules in turn: from the second change on the plan keeps its base, and from
// the third on it is said.
func TestSetInTurn(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		a := message.Recurring{Name: "p", Content: "a", Cron: "0 3 * * *"}
		b := message.Recurring{Name: "p", Content: "b", Cron: "0 4 * * *"}
		w.sets(Added, a)
		begun := w.sets(Replaced, b).Base
		for n, r := range []message.Recurring{a, b, a, b} {
			want := Unsent
			if n == 0 {
				want = Replaced
			}
			if x := w.sets(want, r); !x.Base.Equal(begun) || x.Changes != n+2 {
				t.Errorf("change %d: it counts from %v, not %v", n+2, x.Since, begun)
			}
		}
		x := w.sets(Kept, b)
		_, text, _ := plan.Split(x.Stored)
		w.puts("b", plan.Since{Base: begun.Add(-48 * time.Hour), Changes: 5}.String(), text, x.Next) // so it has sent
		b.Until = time.Now().AddDate(1, 0, 0).Truncate(time.Second).UTC()                            // a change of no times: this is none of those in turn
		w.sets(Replaced, b)
		if x := w.sets(Replaced, a); !x.Base.After(begun) || x.Changes != 0 {
			t.Errorf("it does not begin anew: %+v", x)
		}
	})
}

// A program that died while it set a rule has left two of them. The later one counts.
func TestSetAfterTwo(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		now := time.Now().Truncate(time.Millisecond)
		for content, ago := range map[string]time.Duration{"a": 30 * time.Minute, "b": 10 * time.Minute, "c": 20 * time.Minute} {
			w.puts(content, plan.Since{Base: now.Add(-ago)}.String(), fmt.Sprintf(`{"content":%q,"period":3600000}`, content), now.Add(time.Hour-ago))
		}
		x := w.sets(Replaced, message.Recurring{Name: "p", Content: "d", Period: 2 * time.Hour})
		if want := now.Add(-10 * time.Minute); !x.Base.Equal(want) || !x.Next.Equal(want.Add(2*time.Hour)) {
			t.Errorf("%+v, not from %v on", x, want)
		}
	})
}

// Somebody has deleted a rule, and not its plan.
func TestSetBesideAPlanWithoutARule(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.sets(Added, message.Recurring{Name: "p", Content: "a", Period: time.Hour})
		must.Do(t, w.HDel(ctx, w.of("a").Rule, "p").Err())
		if x := w.sets(Added, message.Recurring{Name: "p", Content: "a", Period: 2 * time.Hour}); !x.Next.Equal(x.Base.Add(2 * time.Hour)) {
			t.Errorf("%+v", x)
		}
	})
}

// beforeSet calls before each script that sets a rule.
type beforeSet struct{ before func() }

func (beforeSet) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h beforeSet) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { h.look(cmd); return next(ctx, cmd) }
}

func (h beforeSet) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			h.look(cmd)
		}
		return next(ctx, cmds)
	}
}

func (h beforeSet) look(cmd redis.Cmder) {
	for _, arg := range cmd.Args() {
		if arg == "SET" {
			h.before()
		}
	}
}

// beside is another client, which has no hook.
func beside(t *testing.T, rdb redis.UniversalClient) (other redis.UniversalClient) {
	if one, is := rdb.(*redis.Client); is {
		other = redis.NewClient(one.Options())
	} else {
		other = redis.NewClusterClient(rdb.(*redis.ClusterClient).Options())
	}
	t.Cleanup(func() { must.Do(t, other.Close()) })
	return other
}

// A worker sends an occurrence, or another program sets a rule, between the read and the set: then
// all is read again.
func TestSetAgain(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		r := message.Recurring{Name: "p", Content: "a", Period: time.Hour}
		first := w.sets(Added, r)
		other := beside(t, w.UniversalClient)
		changes := 0
		w.AddHook(beforeSet{func() {
			changes++
			switch by := float64(time.Hour.Milliseconds()); {
			case changes == 1: // it has sent the first one
				must.Do(t, other.ZIncrBy(ctx, w.of("a").Plan, by, "p").Err())
			case changes > 2:
				must.Do(t, other.ZIncrBy(ctx, w.of("a").Plan, 1, "p").Err())
			}
		}})
		r.Period = 2 * time.Hour
		if x := w.sets(Replaced, r); !x.Next.Equal(first.Base.Add(3 * time.Hour)) { // from the first one on
			t.Errorf("%v, set at %v", x.Next, first.Base)
		}
		if changes != 2 {
			t.Errorf("it was set %d times", changes)
		}
		r.Period = 3 * time.Hour
		rule, err := plan.New(w.Topic, r, 1000)
		must.Do(t, err)
		if _, _, err := w.Plans.Set(ctx, rule); err == nil || err.Error() != "another program, or a worker, has changed it 10 times meanwhile" {
			t.Errorf("%v", err)
		}
	})
}
