package inspector

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

func TestDoctorLooksAtPlans(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		reports := define(t, rdb, message.Topic{Name: "reports", Kind: message.KindFixedTime, Slots: 4})
		planKey, ruleKey := protocol.PlanKey("reports", 2), protocol.RuleKey("reports", 2)
		setPlan(t, rdb, reports, 2, "nightly", message.Recurring{Cron: "0 3 * * *", Zone: "Europe/Berlin"})
		setPlan(t, rdb, reports, 1, "look", message.Recurring{Period: time.Hour})
		wantCheck(t, i.Doctor(ctx), "plans", doctor.OK, "none is overdue")

		late := func(by time.Duration) { // by the server's clock, which is that of the machine
			must.Do(t, rdb.ZAdd(ctx, planKey, redis.Z{Member: "nightly", Score: float64(time.Now().Add(-by).UnixMilli())}).Err())
		}
		late(time.Minute)
		wantCheck(t, i.Doctor(ctx), "plans", doctor.OK, "none is overdue")
		late(3 * time.Hour)
		wantCheck(t, i.Doctor(ctx), "plans", doctor.Warn, "nightly of topic reports is due for 3h, and no worker is there to send it")

		// A worker that does not know it: the slot is not noted, and the plan far from due when it looks.
		must.Do(t, rdb.ZRem(ctx, planKey, "nightly").Err())
		c := work(t, rdb, consumer.Config{}, reports, idle)
		await.True(t, "the worker has all slots", func() bool {
			stats, err := i.Stats(ctx, "reports")
			return err == nil && stats.Workers == 1
		})
		text := rdb.HGet(ctx, ruleKey, "nightly").Val()
		must.Do(t, rdb.HSet(ctx, ruleKey, "nightly", strings.Replace(text, "Europe/Berlin", "Mars/Base", 1)).Err())
		late(3 * time.Hour)
		wantCheck(t, i.Doctor(ctx), "plans", doctor.Warn,
			`nightly of topic reports cannot be read here: read the rule of plan "nightly": Zone is "Mars/Base"`,
			"nightly of topic reports is due for 3h, and its worker "+c.Worker()+" does not send it")

		// One that is wrong for its topic.
		must.Do(t, rdb.HSet(ctx, ruleKey, "nightly", strings.Replace(text, "{", `{"priority":17,`, 1)).Err())
		wantCheck(t, i.Doctor(ctx), "plans", doctor.Warn, "nightly of topic reports cannot be read here: Priority is 17")

		// At its end there is nothing to send.
		must.Do(t, rdb.HSet(ctx, ruleKey, "nightly", strings.Replace(text, "{", fmt.Sprintf(`{"until":%d,`, time.Now().Add(-time.Second).UnixMilli()), 1)).Err())
		must.Do(t, rdb.ZRem(ctx, planKey, "nightly").Err())
		wantCheck(t, i.Doctor(ctx), "plans", doctor.OK, "none is overdue")

		// What a clock has done that was years ahead.
		hour := time.Now().UTC().Truncate(time.Hour)
		years := hour.AddDate(10, 0, 0)
		look := protocol.RuleKey("reports", 1)
		must.Do(t, rdb.HSet(ctx, look, "look", fmt.Sprint(hour.UnixMilli())+rdb.HGet(ctx, look, "look").Val()[13:]).Err())
		must.Do(t, rdb.ZAdd(ctx, protocol.PlanKey("reports", 1), redis.Z{Member: "look", Score: float64(years.UnixMilli())}).Err())
		wantCheck(t, i.Doctor(ctx), "plans", doctor.Warn,
			"look of topic reports sends nothing before "+years.Format(time.RFC3339)+", and should next at "+hour.Add(time.Hour).Format(time.RFC3339)+": a clock was far ahead")
		must.Do(t, rdb.ZRem(ctx, protocol.PlanKey("reports", 1), "look").Err())
		wantCheck(t, i.Doctor(ctx), "plans", doctor.Warn, "look of topic reports has ended, and should next at ")
		setPlan(t, rdb, reports, 1, "look", message.Recurring{Period: time.Minute})
		must.Do(t, rdb.Del(ctx, ruleKey).Err())
		must.Do(t, rdb.Set(ctx, ruleKey, "x", 0).Err())
		wantCheck(t, i.Doctor(ctx), "messages", doctor.Fail, ruleKey)
	})
}
