package inspector

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// Plans are listed by their names, many in many slots, in answers of bounded size, with those that
// are over and those that cannot be read.
func TestPlans(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4})
		if all, err := i.Plans(ctx, "orders"); err != nil || len(all) > 0 {
			t.Errorf("%+v, %v", all, err)
		}
		const many = 1500
		for n := range many {
			k := luascripts.KeysOf(topic.Name, n%2).Plans(false)
			name := fmt.Sprintf("p%04d", n)
			must(t, rdb.HSet(ctx, k.Rule, name, `1700000000000 {"content":"c","priority":17,"cron":"@daily"}`).Err())
			must(t, rdb.ZAdd(ctx, k.Plan, redis.Z{Member: name, Score: 1800000000000 + float64(n)}).Err())
		}
		k := luascripts.KeysOf(topic.Name, 2).Plans(false)
		must(t, rdb.HSet(ctx, k.Rule, "over", `1700000000000 {"content":"c","priority":17,"cron":"@daily"}`, "no base", "{}", "newer", `1 {"content":"c","moon":"full"}`).Err())
		must(t, rdb.SAdd(ctx, luascripts.PlansKey("orders"), 0, 1, 2, 3, "x", -1, 4).Err())
		all, err := i.Plans(ctx, "orders")
		must(t, err)
		if len(all) != many+3 {
			t.Fatalf("%d plans", len(all))
		}
		for n, p := range all[3:] {
			want := Plan{
				Recurring: message.Recurring{Name: fmt.Sprintf("p%04d", n), Content: "c", Priority: 17, Cron: "@daily"},
				Slot:      n % 2, Set: time.UnixMilli(1700000000000), Next: time.UnixMilli(1800000000000 + int64(n)),
			}
			if p != want {
				t.Fatalf("%+v, want %+v", p, want)
			}
		}
		for n, want := range []struct{ name, err string }{{"newer", "moon"}, {"no base", "when it was set"}, {"over", ""}} {
			p := all[n]
			if p.Name != want.name || !p.Ended || p.Slot != 2 || (p.Err == nil) != (want.err == "") || p.Err != nil && !strings.Contains(p.Err.Error(), want.err) {
				t.Errorf("%+v, want %+v", p, want)
			}
		}
		must(t, rdb.Del(ctx, k.Rule).Err())
		must(t, rdb.Set(ctx, k.Rule, "of another program", 0).Err())
		all, err = i.Plans(ctx, "orders")
		var partial *PartialError
		if !errors.As(err, &partial) || len(partial.Failures) != 1 || partial.Failures[0].Slot != 2 || len(all) != many {
			t.Errorf("%d plans, %v", len(all), err)
		}
	})
}

// What is to become of a plan that is set or stopped is said.
func TestSetAndStopPlan(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		define(t, rdb, message.Topic{Name: "orders", Kind: message.KindFixedTime, Slots: 8})
		rule := message.Recurring{Name: "p", Content: "a", Cron: "@daily"}
		set := func(want PlanChange) {
			t.Helper()
			if got, err := i.SetPlan(ctx, "orders", rule); err != nil || got != want {
				t.Errorf("%v, %v, want %v", got, err, want)
			}
		}
		set(PlanAdded)
		set(PlanKept)
		rule.Cron = "@hourly"
		set(PlanReplaced)
		rule.Content = "b"
		set(PlanReplaced)
		set(PlanKept)
		for _, want := range []bool{true, false} {
			if stopped, err := i.StopPlan(ctx, "orders", "p"); stopped != want || err != nil {
				t.Errorf("%v, %v", stopped, err)
			}
		}
		rule.Priority = 17
		var invalid *message.InvalidError
		if _, err := i.SetPlan(ctx, "orders", rule); !errors.As(err, &invalid) || invalid.Field != "Priority" {
			t.Errorf("%v", err)
		}
		if _, err := i.SetPlan(ctx, "none", rule); !errors.Is(err, ErrUnknownTopic) {
			t.Errorf("%v", err)
		}
		if PlanReplaced.String() != "replaced" || PlanChange(9).String() != "PlanChange(9)" {
			t.Errorf("%v, %v", PlanReplaced, PlanChange(9))
		}
	})
}
