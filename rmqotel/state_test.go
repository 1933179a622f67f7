package rmqotel

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// What is stored is measured, of one server and of a Cluster, until it is stopped.
func TestState(t *testing.T) {
	t.Parallel()
	stored(t, servertest.Redis(t).Client(t))
}

func TestStateOfACluster(t *testing.T) {
	t.Parallel()
	stored(t, servertest.Cluster(t, 3, 0).Client(t))
}

func stored(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	ctx := context.Background()
	w := newWorld(t, rdb, rmq.Config{Namespace: "shop"}, Config{})
	topic := rmq.Topic{Name: "mails", Kind: rmq.KindFixedTime, Slots: 4}
	w.send(topic, rmq.FixedTime{Content: "later", In: time.Hour})
	w.send(topic, rmq.FixedTime{Content: "past", At: time.Now().Add(-time.Hour)})
	w.send(rmq.Topic{Name: "other", Kind: rmq.KindFixedTime, Slots: 1}, rmq.FixedTime{Content: "x", In: time.Hour})
	k := protocol.KeysOf("shop:mails", 1)
	w.must(rdb.ZAdd(ctx, k.Dead, redis.Z{Member: "dead", Score: 1}).Err())
	w.must(rdb.HSet(ctx, k.Meta, "paused", 1).Err())

	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.nextReader()))
	stop, err := State(StateConfig{Redis: rdb, Namespace: "shop", Topics: []string{"mails"}, MeterProvider: provider})
	w.must(err)
	for _, c := range []struct {
		name string
		with []string
		want float64
	}{
		{"rmq.messages", []string{"topic=shop:mails", "state=waiting"}, 2},
		{"rmq.messages", []string{"topic=shop:mails", "state=dead"}, 1},
		{"rmq.messages", []string{"topic=shop:mails", "state=in_flight"}, 0},
		{"rmq.messages", []string{"topic=shop:other"}, 0},
		{"rmq.messages.due", []string{"topic=shop:mails"}, 1},
		{"rmq.slots.paused", []string{"topic=shop:mails"}, 1},
		{"rmq.slots.unread", []string{"topic=shop:mails"}, 0},
		{"rmq.workers", []string{"topic=shop:mails"}, 0},
	} {
		if got := w.sum(c.name, c.with...); got != c.want {
			t.Errorf("%s %q: %v, not %v", c.name, c.with, got, c.want)
		}
	}
	if late := w.sum("rmq.overdue"); late < 3600 || late > 7200 {
		t.Errorf("overdue by %v s", late)
	}
	w.must(stop())
	if all := w.metrics(); len(all) != 0 {
		t.Errorf("after the stop: %v", all)
	}
	if _, err := State(StateConfig{}); err == nil {
		t.Error("no Redis is taken")
	}
}
