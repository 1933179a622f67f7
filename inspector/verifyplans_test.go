package inspector

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
	"github.com/slotmq/go-rmq/message"
)

func planKeys(topic message.Topic, slot int) protocol.PlanKeys {
	return protocol.PlanKeys{Store: protocol.StoreKey(topic.Name, slot), Plan: protocol.PlanKey(topic.Name, slot), Rule: protocol.RuleKey(topic.Name, slot)}
}

// setPlan sets a plan as a program would, whose content belongs to the slot.
func setPlan(t testing.TB, rdb redis.UniversalClient, topic message.Topic, slot int, name string, m message.Recurring) {
	t.Helper()
	for n := 0; slotOf(topic, m.SlotBasis) != slot; n++ {
		m.SlotBasis = fmt.Sprint("basis ", n)
	}
	m.Name, m.Content = name, "report "+binary
	rule, err := plan.New(topic, m, 1000)
	must.Do(t, err)
	now := time.Now()
	next, err := rule.First(now)
	must.Do(t, err)
	must.Do(t, rdb.SAdd(ctx, protocol.PlansKey(topic.Name), slot).Err())
	_, err = protocol.New(rdb).SetPlan(ctx, planKeys(topic, slot), name, rule.Text(), fmt.Sprint(now.UnixMilli()), next.UnixMilli(), protocol.PlanStand{})
	must.Do(t, err)
}

func TestVerifyPlans(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, message.Topic{Name: "reports", Kind: message.KindFixedTime, Slots: 4})
		const slot, name = 2, "hourly"
		planKey, ruleKey, noted := protocol.PlanKey("reports", slot), protocol.RuleKey("reports", slot), protocol.PlansKey("reports")
		sound := func() {
			must.Do(t, rdb.Del(ctx, planKey).Err())
			must.Do(t, rdb.Del(ctx, ruleKey).Err())
			must.Do(t, rdb.Del(ctx, noted).Err())
			setPlan(t, rdb, topic, slot, name, message.Recurring{Cron: "0 * * * *", Zone: "Europe/Berlin"})
			setPlan(t, rdb, topic, 0, "nightly", message.Recurring{Cron: "@daily"})
			for n := range 207 { // and some that have ended
				other := fmt.Sprint("another ", n)
				setPlan(t, rdb, topic, slot, other, message.Recurring{Period: time.Minute})
				if n%10 == 0 {
					must.Do(t, rdb.ZRem(ctx, planKey, other).Err())
				}
			}
		}
		finds := func(rule, key, content, detail string) {
			t.Helper()
			found, err := i.Verify(ctx, []string{"reports"}, nil)
			must.Do(t, err)
			if rule == "" && len(found) == 0 {
				return
			}
			if len(found) != 1 || found[0].Rule != rule || found[0].Key != key || found[0].Content != content || !strings.Contains(found[0].Detail, detail) {
				t.Errorf("%+v, want %q about %q in %s: %s", found, rule, content, key, detail)
			}
		}
		sound()
		finds("", "", "", "")
		text := rdb.HGet(ctx, ruleKey, name).Val()
		base, json, _ := strings.Cut(text, " ")
		// Which zones are known here is for the doctor to tell.
		must.Do(t, rdb.HSet(ctx, ruleKey, name, base+" "+strings.Replace(json, "Europe/Berlin", "Mars/Base", 1)).Err())
		finds("", "", "", "")
		for rule, detail := range map[string]string{
			json:                    `its base is "{`,
			"7 " + json:             `its base is "7"`,
			"":                      `its base is ""`,
			base + " {}":            "Content is empty",
			base + " " + json + "x": "follows its JSON",
			base + " " + strings.Replace(json, "{", `{"priority":17,`, 1):                     "Priority is 17",
			base + " " + strings.Replace(json, `"slot_basis":"`, `"slot_basis":"another `, 1): "belongs to slot ",
		} {
			must.Do(t, rdb.HSet(ctx, ruleKey, name, rule).Err())
			finds("PLAN", ruleKey, name, detail)
		}
		for _, at := range []float64{17, 1767225600000.5, 253402300800000} {
			sound()
			must.Do(t, rdb.ZAdd(ctx, planKey, redis.Z{Member: name, Score: at}).Err())
			finds("PLAN", planKey, name, "its time is ")
		}
		sound()
		must.Do(t, rdb.HDel(ctx, ruleKey, name).Err())
		finds("PLAN", planKey, name, "it has no rule in "+ruleKey)
		sound()
		must.Do(t, rdb.SRem(ctx, noted, 0).Err())
		finds("PLAN", noted, "", "the slot has plans and is not in it")
		sound()
		for _, odd := range []string{"4", "-1", "x"} {
			must.Do(t, rdb.SAdd(ctx, noted, odd).Err())
			finds("PLAN", noted, "", `it names slot "`+odd+`"`)
			must.Do(t, rdb.SRem(ctx, noted, odd).Err())
		}
		for _, key := range []string{planKey, ruleKey, noted} {
			sound()
			must.Do(t, rdb.Del(ctx, key).Err())
			must.Do(t, rdb.Set(ctx, key, "x", 0).Err())
			finds("TYPES", key, "", "is not a ")
		}
	})
}

// A plan that is set and stopped again and again is whole whenever it is looked at.
func TestVerifyFindsNothingInPlansAtWork(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, message.Topic{Name: "reports", Kind: message.KindFixedTime, Slots: 1})
		done, looked := make(chan struct{}), make(chan int)
		go func() {
			looks := 0
			defer func() { looked <- looks }()
			for ; ; looks++ {
				select {
				case <-done:
					return
				default:
				}
				if found, err := i.Verify(ctx, nil, nil); err != nil || len(found) > 0 {
					t.Errorf("found %+v, %v", found, err)
				}
			}
		}()
		s := protocol.New(rdb)
		for range night.Times(300, 3000) {
			setPlan(t, rdb, topic, 0, "p", message.Recurring{Period: time.Hour})
			_, err := s.StopPlan(ctx, planKeys(topic, 0), "p", "")
			must.Do(t, err)
		}
		close(done)
		if looks := <-looked; looks == 0 {
			t.Error("nothing was looked at")
		}
	})
}
