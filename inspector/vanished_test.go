package inspector

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

// Workers that vanish are known for a day: those that others have missed, and those that none has missed yet.
func TestVanished(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		vanished := func() []Vanished {
			t.Helper()
			all, err := i.Vanished(ctx)
			must.Do(t, err)
			return all
		}
		now := time.Now()
		for _, name := range []string{"orders", "mails", "elsewhere"} {
			topic := define(t, rdb, message.Topic{Name: name, Kind: message.KindPriority, Slots: 2})
			must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey(topic.Name), "sharing", map[bool]string{true: "redis", false: "zookeeper"}[name != "elsewhere"]).Err())
			must.Do(t, rdb.SAdd(ctx, protocol.TopicsKey, name).Err())
			zadd(t, rdb, protocol.WorkersKey(name), "lives", now.Add(time.Hour).UnixMilli())
		}
		if all := vanished(); len(all) != 0 {
			t.Errorf("%+v", all)
		}
		at := func(ago time.Duration) int64 { return now.Add(-ago).UnixMilli() }
		zadd(t, rdb, protocol.WorkersKey("orders"), "alone", at(time.Minute))
		zadd(t, rdb, protocol.GoneKey("orders"), "both", at(3*time.Minute))
		zadd(t, rdb, protocol.GoneKey("mails"), "both", at(2*time.Minute))
		zadd(t, rdb, protocol.GoneKey("mails"), "yesterday", at(25*time.Hour))
		zadd(t, rdb, protocol.GoneKey("elsewhere"), "of another kind", at(time.Minute))
		all := vanished()
		if got, want := fmt.Sprint(all), fmt.Sprint([]Vanished{
			{"alone", []string{"orders"}, time.UnixMilli(at(time.Minute))},
			{"both", []string{"mails", "orders"}, time.UnixMilli(at(2 * time.Minute))},
		}); got != want {
			t.Errorf("%s, not %s", got, want)
		}
		if workers, err := i.Workers(ctx); err != nil || len(workers) != 1 {
			t.Errorf("%+v, %v", workers, err)
		}
		must.Do(t, rdb.Set(ctx, protocol.GoneKey("orders"), "x", 0).Err())
		all, err := i.Vanished(ctx)
		wantError(t, err, nil, "read which workers vanished from topic orders", "WRONGTYPE")
		if len(all) != 2 {
			t.Errorf("%+v", all)
		}
		_, err = i.Vanished(nil) //nolint:staticcheck // what it says of it
		wantError(t, err, nil, "list workers that vanished: ctx is nil")
	})
}

// A worker that is killed is missed by the others, and one that is closed is not.
func TestVanishedWorkers(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4}
		done := func(context.Context, *consumer.Delivery) error { return nil }
		work(t, rdb, consumer.Config{Lease: time.Second}, topic, done)
		closes, err := consumer.New(rdb, consumer.Config{Lease: time.Second})
		must.Do(t, err)
		must.Do(t, closes.Listen(topic, consumer.ListenerFunc(done), consumer.ListenOptions{}))
		must.Do(t, closes.Start(ctx))
		must.Do(t, closes.Close(ctx))
		zadd(t, rdb, protocol.WorkersKey("orders"), "killed", time.Now().Add(100*time.Millisecond).UnixMilli())
		await.True(t, "it is missed", func() bool {
			all, err := i.Vanished(ctx)
			must.Do(t, err)
			_, missed := rdb.ZScore(ctx, protocol.GoneKey("orders"), "killed").Result()
			return missed == nil && len(all) == 1 && all[0].Worker == "killed"
		})
	})
}
