package consumer

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// planned sets a plan by hand, from now on each 100 ms, and tells nobody.
func planned(t *testing.T, rdb redis.UniversalClient, topic message.Topic, slot int, content string) {
	t.Helper()
	now, err := rdb.Time(ctx).Result()
	must.Do(t, err)
	must.Do(t, rdb.SAdd(ctx, protocol.PlansKey(topic.Name), slot).Err())
	_, err = protocol.New(rdb).SetPlan(ctx, protocol.KeysOf(topic.Name, slot).Plans(false), "p",
		fmt.Sprintf(`{"content":%q,"period":100}`, content), fmt.Sprint(now.UnixMilli()), now.UnixMilli()+100, protocol.PlanStand{})
	must.Do(t, err)
}

// handledTimes returns when a listener was called so many times more.
func handledTimes(t *testing.T, handled *atomic.Int64, more int64) {
	t.Helper()
	from := handled.Load()
	await.True(t, fmt.Sprint("it is called ", more, " times more"), func() bool { return handled.Load() >= from+more })
}

// A worker finds a plan that it has not heard of, at its safety look; it hears of one at once; and it
// sends on while Redis loses answers. Another worker that gets the slots goes on there.
func TestPlansAreSent(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	rdb, topic := server.Client(t), topicOf(t, message.KindFixedTime, 4)
	var handled atomic.Int64
	count := ListenerFunc(func(context.Context, *Delivery) error { handled.Add(1); return nil })
	a := work(t, proxy.Client(t), Config{Lease: time.Second, SafetyLook: 100 * time.Millisecond}, topic, count)
	planned(t, rdb, topic, 2, "unheard")
	handledTimes(t, &handled, 3)
	lost := proxy.LoseNextReply("FIRE")
	await.Signal(t, "a reply is lost", lost)
	handledTimes(t, &handled, 3)
	b := work(t, server.Client(t), Config{Lease: time.Second}, topic, count) // its safety look is in an hour
	must.Do(t, closeIn(a, await.Patience))
	handledTimes(t, &handled, 3)
	must.Do(t, rdb.Del(ctx, protocol.KeysOf(topic.Name, 2).Plans(false).Plan).Err())
	planned(t, rdb, topic, 3, "heard")
	must.Do(t, rdb.Publish(ctx, protocol.WakeChannel(topic.Name), protocol.AppendPlan(nil, 3)).Err())
	handledTimes(t, &handled, 3)
	must.Do(t, closeIn(b, await.Patience))
}

// A worker that dies sends nothing any more. The next one that gets its slots sends what is late,
// at once, whatever its safety look.
func TestPlansOfADeadWorker(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	rdb, topic := server.Client(t), topicOf(t, message.KindFixedTime, 1)
	var before, after atomic.Int64
	dying := newConsumer(t, proxy.Client(t), Config{Lease: time.Second})
	must.Do(t, dying.Listen(topic, ListenerFunc(func(context.Context, *Delivery) error { before.Add(1); return nil }), ListenOptions{}))
	planned(t, rdb, topic, 0, "x")
	start(t, dying) // it gains the slot
	handledTimes(t, &before, 2)
	proxy.Cut()
	work(t, rdb, Config{Lease: time.Second}, topic, ListenerFunc(func(context.Context, *Delivery) error { after.Add(1); return nil }))
	handledTimes(t, &after, 2)
	proxy.Mend()
}
