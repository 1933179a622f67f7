package inspector

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/plans"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
	"github.com/slotmq/go-rmq/message"
)

// Plans are listed by their names, many in many slots, in answers of bounded size, with those that
// are over and those that cannot be read.
func TestPlans(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4})
		if all, err := i.Plans().List(ctx, "orders"); err != nil || len(all) > 0 {
			t.Errorf("%+v, %v", all, err)
		}
		const many = 1500
		for n := range many {
			k := protocol.KeysOf(topic.Name, n%2).Plans(false)
			name := fmt.Sprintf("p%04d", n)
			must.Do(t, rdb.HSet(ctx, k.Rule, name, `1700000000000 {"content":"c","priority":17,"cron":"@daily"}`).Err())
			must.Do(t, rdb.ZAdd(ctx, k.Plan, redis.Z{Member: name, Score: 1800000000000 + float64(n)}).Err())
		}
		k := protocol.KeysOf(topic.Name, 2).Plans(false)
		must.Do(t, rdb.HSet(ctx, k.Rule, "over", `1700000000000 {"content":"c","priority":17,"cron":"@daily"}`, "no base", "{}", "newer", `1 {"content":"c","moon":"full"}`,
			"of another kind", `1 {"content":"c","cron":"@daily"}`).Err())
		must.Do(t, rdb.SAdd(ctx, protocol.PlansKey("orders"), 0, 1, 2, 3, "x", -1, 4).Err())
		all, err := i.Plans().List(ctx, "orders")
		must.Do(t, err)
		if len(all) != many+4 {
			t.Fatalf("%d plans", len(all))
		}
		for n, p := range all[4:] {
			want := plans.Plan{
				Recurring: message.Recurring{Name: fmt.Sprintf("p%04d", n), Content: "c", Priority: 17, Cron: "@daily"},
				Slot:      n % 2, Set: time.UnixMilli(1700000000000), Next: time.UnixMilli(1800000000000 + int64(n)),
			}
			if p != want {
				t.Fatalf("%+v, want %+v", p, want)
			}
		}
		for n, want := range []struct{ name, err string }{{"newer", "moon"}, {"no base", "from when it counts"}, {"of another kind", "Priority"}, {"over", ""}} {
			p := all[n]
			if p.Name != want.name || !p.Ended || p.Slot != 2 || (p.Err == nil) != (want.err == "") || p.Err != nil && !strings.Contains(p.Err.Error(), want.err) {
				t.Errorf("%+v, want %+v", p, want)
			}
		}
		must.Do(t, rdb.Del(ctx, k.Rule).Err())
		must.Do(t, rdb.Set(ctx, k.Rule, "of another program", 0).Err())
		all, err = i.Plans().List(ctx, "orders")
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
		set := func(want plans.Change) {
			t.Helper()
			if got, err := i.Plans().Set(ctx, "orders", rule); err != nil || got != want {
				t.Errorf("%v, %v, want %v", got, err, want)
			}
		}
		set(plans.Added)
		set(plans.Kept)
		rule.Cron = "@hourly"
		set(plans.Replaced)
		rule.Content = "b"
		set(plans.Replaced)
		set(plans.Kept)
		for _, want := range []bool{true, false} {
			if stopped, err := i.Plans().Stop(ctx, "orders", "p"); stopped != want || err != nil {
				t.Errorf("%v, %v", stopped, err)
			}
		}
		rule.Priority = 17
		var invalid *message.InvalidError
		if _, err := i.Plans().Set(ctx, "orders", rule); !errors.As(err, &invalid) || invalid.Field != "Priority" {
			t.Errorf("%v", err)
		}
		if _, err := i.Plans().Set(ctx, "none", rule); !errors.Is(err, ErrUnknownTopic) {
			t.Errorf("%v", err)
		}
		if plans.Replaced.String() != "replaced" || plans.Change(9).String() != "PlanChange(9)" {
			t.Errorf("%v, %v", plans.Replaced, plans.Change(9))
		}
	})
}

// A clock that was far ahead has set a rule, or has moved its plan on, or brought it to its end. Who
// sets a rule of that name has it begin now.
func TestSetPlanMends(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindFixedTime, Slots: 8})
		rule := message.Recurring{Name: "p", Content: "a", Period: time.Hour}
		k := planKeys(topic, slotOf(topic, "a"))
		years := time.Now().AddDate(10, 0, 0)
		setBy := func(base time.Time) {
			_, text, _ := plan.Split(rdb.HGet(ctx, k.Rule, "p").Val())
			must.Do(t, rdb.HSet(ctx, k.Rule, "p", fmt.Sprint(base.UnixMilli(), " ", text)).Err())
		}
		moved := func(to time.Time) {
			must.Do(t, rdb.ZAdd(ctx, k.Plan, redis.Z{Member: "p", Score: float64(to.UnixMilli())}).Err())
		}
		for what, x := range map[string]struct {
			wrong func()
			want  plans.Change
		}{
			"nothing is wrong":                {func() {}, plans.Kept},
			"set":                             {func() { setBy(years); moved(years.Add(time.Hour)) }, plans.Mended},
			"moved on":                        {func() { moved(years) }, plans.Mended},
			"at its end":                      {func() { must.Do(t, rdb.ZRem(ctx, k.Plan, "p").Err()) }, plans.Mended},
			"moved on by a clock a bit ahead": {func() { setBy(time.Now().Add(-time.Hour)); moved(time.Now().Add(time.Hour)) }, plans.Kept},
			"set, unreadable":                 {func() { must.Do(t, rdb.HSet(ctx, k.Rule, "p", fmt.Sprint(years.UnixMilli(), " {}")).Err()) }, plans.Mended},
			"of another content, set":         {func() { setBy(years); rule.Content = "b" }, plans.Mended},
		} {
			rule.Content = "a"
			for _, other := range []string{"a", "b"} {
				k := planKeys(topic, slotOf(topic, other))
				must.Do(t, rdb.Del(ctx, k.Rule).Err())
				must.Do(t, rdb.Del(ctx, k.Plan).Err())
			}
			_, err := i.Plans().Set(ctx, "orders", rule)
			must.Do(t, err)
			x.wrong()
			if got, err := i.Plans().Set(ctx, "orders", rule); got != x.want || err != nil {
				t.Errorf("%s: %v, %v", what, got, err)
			}
			all, err := i.Plans().List(ctx, "orders")
			must.Do(t, err)
			if len(all) != 1 || all[0].Recurring != rule || all[0].Set.After(time.Now().Add(time.Minute)) || all[0].Next.After(time.Now().Add(2*time.Hour)) || all[0].Ended {
				t.Errorf("%s: %+v", what, all)
			}
		}
	})
}
