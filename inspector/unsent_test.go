package inspector

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

func TestDoctorLooksAtPlans(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		reports := define(t, rdb, message.Topic{Name: "reports", Kind: message.KindFixedTime, Slots: 4})
		planKey, ruleKey := luascripts.PlanKey("reports", 2), luascripts.RuleKey("reports", 2)
		setPlan(t, rdb, reports, 2, "nightly", message.Recurring{Cron: "0 3 * * *", Zone: "Europe/Berlin"})
		setPlan(t, rdb, reports, 1, "look", message.Recurring{Period: time.Hour})
		wantCheck(t, i.Doctor(ctx), "plans", OK, "none is overdue")

		late := func(by time.Duration) { // by the server's clock, which is that of the machine
			must(t, rdb.ZAdd(ctx, planKey, redis.Z{Member: "nightly", Score: float64(time.Now().Add(-by).UnixMilli())}).Err())
		}
		late(time.Minute)
		wantCheck(t, i.Doctor(ctx), "plans", OK, "none is overdue")
		late(3 * time.Hour)
		wantCheck(t, i.Doctor(ctx), "plans", Warn, "nightly of topic reports is due for 3h, and no worker is there to send it")

		// A worker that does not know it: the slot is not noted, and the plan far from due when it looks.
		must(t, rdb.ZRem(ctx, planKey, "nightly").Err())
		c := work(t, rdb, consumer.Config{}, reports, idle)
		eventually(t, "the worker has all slots", func() bool {
			stats, err := i.Stats(ctx, "reports")
			return err == nil && stats.Workers == 1
		})
		text := rdb.HGet(ctx, ruleKey, "nightly").Val()
		must(t, rdb.HSet(ctx, ruleKey, "nightly", strings.Replace(text, "Europe/Berlin", "Mars/Base", 1)).Err())
		late(3 * time.Hour)
		wantCheck(t, i.Doctor(ctx), "plans", Warn,
			`nightly of topic reports cannot be read here: read the rule of plan "nightly": Zone is "Mars/Base"`,
			"nightly of topic reports is due for 3h, and its worker "+c.Worker()+" does not send it")

		// At its end there is nothing to send.
		must(t, rdb.HSet(ctx, ruleKey, "nightly", text).Err())
		must(t, rdb.ZRem(ctx, planKey, "nightly").Err())
		wantCheck(t, i.Doctor(ctx), "plans", OK, "none is overdue")
		must(t, rdb.Del(ctx, ruleKey).Err())
		must(t, rdb.Set(ctx, ruleKey, "x", 0).Err())
		wantCheck(t, i.Doctor(ctx), "messages", Fail, ruleKey)
	})
}
