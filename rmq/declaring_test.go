package rmq_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// Redis loses all that it has, while workers run: their plans come back, and send on. What was ended
// does not, whoever has ended it.
func TestPlansComeBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rdb := servertest.Redis(t).Client(t)
	topic := rmq.Topic{Name: "reports", Kind: rmq.KindFixedTime, Slots: 16}
	tick := rmq.Recurring{Name: "tick", Content: "tick", Period: 100 * time.Millisecond}
	core, lines := observer.New(zap.WarnLevel)
	client := opened(t, rmq.Config{Redis: rdb, Namespace: "shop", Logger: zap.New(core)})
	handled := times(t, client, topic)
	begin(t, client)
	must.Do(t, client.Every(ctx, topic, tick))
	other := opened(t, rmq.Config{Redis: rdb, Namespace: "shop"}) // looks when it is told to
	must.Do(t, other.Every(ctx, topic, rmq.Recurring{Name: "nightly", Content: "report", Cron: "0 3 * * *", Missed: rmq.MissedSkip}))
	nextTime(t, handled, "tick")
	before := plansOf(t, client, topic)

	must.Do(t, rdb.FlushAll(ctx).Err())
	rmq.LookForPlans(client)
	if lines.FilterMessage("Redis had lost plans; they are set again, and send what was missed").FilterField(zap.String("one", "tick")).Len() != 1 {
		t.Errorf("%+v", lines.All())
	}
	for len(handled) > 0 { // of before
		<-handled
	}
	for range 3 {
		nextTime(t, handled, "tick")
	}
	rmq.LookForPlans(other)
	after := plansOf(t, client, topic)
	if len(after) != 2 || after[0] != before[0] || after[1].Recurring != before[1].Recurring || !after[1].Set.Equal(before[1].Set) {
		t.Errorf("%+v, not %+v", after, before)
	}

	must.Do(t, client.StopEvery(ctx, topic, "nightly"))
	must.Do(t, other.StopEvery(ctx, topic, "tick"))
	keys := rdb.Keys(ctx, "*reports*").Val() // and somebody deletes the topic, which leaves what was ended
	must.Do(t, rdb.Del(ctx, slices.DeleteFunc(keys, func(key string) bool { return key == "rmq:ended{shop:reports}" })...).Err())
	rmq.LookForPlans(other)
	if n := rdb.Exists(ctx, "rmq:plans{shop:reports}").Val(); n > 0 {
		t.Errorf("a topic that was deleted has plans")
	}
	for _, c := range []*rmq.Client{client, other} {
		rmq.LookForPlans(c)
	}
	must.Do(t, rdb.FlushAll(ctx).Err())
	for _, c := range []*rmq.Client{client, other} {
		rmq.LookForPlans(c)
	}
	if n := rdb.Exists(ctx, "rmq:plans{shop:reports}").Val(); n > 0 {
		t.Errorf("plans that were ended are set again")
	}
}

// Nobody has to tell a client to look.
func TestPlansAreLookedFor(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rdb := servertest.Redis(t).Client(t)
	topic := rmq.Topic{Name: "reports", Kind: rmq.KindFixedTime, Slots: 1}
	client := opened(t, rmq.Config{Redis: rdb})
	rmq.LookEach(client, time.Millisecond)
	must.Do(t, client.Every(ctx, topic, rmq.Recurring{Name: "p", Content: "a", Cron: "@daily"}))
	for range 3 {
		must.Do(t, rdb.Del(ctx, "rule{reports_0}", "plan{reports_0}").Err())
		await.True(t, "the plan is there again", func() bool { return rdb.Exists(ctx, "rule{reports_0}").Val() == 1 })
	}
}

// A client that Redis does not answer says so only where nobody else does, and goes on.
func TestPlansOfAWrongType(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := servertest.Redis(t)
	rdb := server.Client(t)
	topic := rmq.Topic{Name: "reports", Kind: rmq.KindFixedTime, Slots: 1}
	core, lines := observer.New(zap.WarnLevel)
	client := opened(t, rmq.Config{Redis: rdb, Logger: zap.New(core)})
	must.Do(t, client.Every(ctx, topic, rmq.Recurring{Name: "p", Content: "a", Cron: "@daily"}))
	must.Do(t, rdb.Del(ctx, "rule{reports_0}").Err())
	must.Do(t, rdb.Set(ctx, "rule{reports_0}", "of another program", 0).Err())
	rmq.LookForPlans(client)
	if found := lines.FilterMessage("it is not known whether Redis still has all plans; it is tried again"); found.Len() != 1 {
		t.Errorf("%+v", lines.All())
	}
	if err := client.Health(await.Context(t)); err == nil || !strings.Contains(err.Error(), "all plans of topic reports: ") || !strings.Contains(err.Error(), "rule{reports_0}") {
		t.Errorf("health: %v", err)
	}
	server.Kill()
	rmq.LookForPlans(client)
	if lines.Len() != 1 {
		t.Errorf("%+v", lines.All())
	}
	server.Restart(t)
	must.Do(t, rdb.Del(ctx, "rule{reports_0}").Err())
	rmq.LookForPlans(client)
	must.Do(t, client.Health(await.Context(t)))
}
