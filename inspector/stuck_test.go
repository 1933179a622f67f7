package inspector

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// forget makes a slot look as after a restart of Redis that forgot what came since: a batch of
// that holder is in flight, taken a minute ago, and something is due behind it.
func forget(t testing.TB, rdb redis.UniversalClient, topic message.Topic, slot int, holder string, lease time.Duration) {
	t.Helper()
	k, taken := protocol.KeysOf(topic.Name, slot), time.Now().Add(-time.Minute)
	zadd(t, rdb, k.Prepare, "flying", taken.Unix()*1000+16)
	zadd(t, rdb, k.Store, "waiting", taken.UnixMilli())
	must.Do(t, rdb.HSet(ctx, k.Meta, "holder", holder, "batch", time.Now().Add(time.Hour).UnixMicro(), "until", taken.Add(lease).UnixMilli(), "lease", lease.Milliseconds()).Err())
}

// A worker that lives in ZooKeeper holds a batch that it does not carry: the slot stands still
// until somebody restarts it, and the doctor and verify say so.
func TestSlotHeldByWhoDoesNotCarryIt(t *testing.T) {
	t.Parallel()
	server, zoo := servertest.Redis(t), servertest.SharedZooKeeper(t)
	root, rdb := zoo.Chroot(t), server.Client(t)
	proxy := servertest.NewProxy(t, server.Addr())
	sharing := func() slots.Sharing {
		return slots.ZooKeeper(slots.ZooKeeperConfig{Servers: zoo.Servers(), Root: root})
	}
	topic := message.Topic{Name: "orders", Kind: message.KindFixedTime, Slots: 4}
	a := work(t, proxy.Client(t), consumer.Config{Worker: "a", Slots: sharing()}, topic, idle)
	b := work(t, rdb, consumer.Config{Worker: "b", Slots: sharing()}, topic, idle)
	i := newInspector(t, rdb, Config{Slots: sharing()})
	var of []int // b's
	await.True(t, "both say which slots they have", func() bool {
		workers, err := i.Workers(ctx)
		must.Do(t, err)
		said := 0
		for _, w := range workers {
			if len(w.Held[topic.Name]) == 2 && slices.Equal(w.Held[topic.Name], w.Assigned[topic.Name]) {
				said++
			}
			if w.ID == b.Worker() {
				of = w.Held[topic.Name]
			}
		}
		return said == 2
	})
	checks := i.Doctor(ctx)
	wantCheck(t, checks, "slots", doctor.OK, "none stands still")
	found, err := i.Verify(ctx, nil, nil)
	if err != nil || found != nil {
		t.Errorf("%+v, %v", found, err)
	}

	proxy.Cut() // a cannot be asked
	defer proxy.Mend()
	forget(t, rdb, topic, of[0], a.Worker(), 0)
	checks = i.Doctor(ctx)
	wantCheck(t, checks, "slots", doctor.Fail, fmt.Sprintf("topic orders slot %d: a batch of 1, taken 1m", of[0]), "ago by "+a.Worker()+", which lives, and does not carry it; 1 message due behind it",
		"nothing moved between two looks, 2s apart")
	found, err = i.Verify(ctx, nil, nil)
	if err != nil || len(found) != 1 || found[0].Rule != "STANDS" || found[0].Slot != of[0] {
		t.Errorf("%+v, %v", found, err)
	}
	// It is handed back once a hears of it, or by hand.
	proxy.Mend()
	must.Do(t, rdb.Del(ctx, protocol.KeysOf(topic.Name, of[0]).Prepare).Err())
}

// Leases that are over, and messages that a worker leaves lying.
func TestSlotsThatStandStill(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		gone := define(t, rdb, message.Topic{Name: "gone", Kind: message.KindFixedTime, Slots: 2})
		forget(t, rdb, gone, 1, "w1", 30*time.Second)
		must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey(gone.Name), "sharing", "redis").Err())
		must.Do(t, rdb.SAdd(ctx, protocol.TopicsKey, gone.Name).Err())

		// One handler keeps the only place, and the other slot waits.
		busy := message.Topic{Name: "busy", Kind: message.KindFixedTime, Slots: 2}
		began, release := make(chan struct{}), make(chan struct{})
		work(t, rdb, consumer.Config{Concurrency: 1, Worker: "w2", Timeout: time.Hour}, busy, func(context.Context, *consumer.Delivery) error {
			select {
			case began <- struct{}{}:
			case <-release:
			}
			<-release
			return nil
		})
		send(t, rdb, busy, message.FixedTime{Content: "long", In: time.Millisecond})
		<-began
		at := slots.Of("long", 2)
		zadd(t, rdb, protocol.StoreKey(busy.Name, 1-at), "waits", time.Now().Add(-time.Minute).UnixMilli())
		defer close(release)

		forget(t, rdb, gone, 1, "w1", 30*time.Second) // anew: that lease ended 30 s ago
		checks := i.Doctor(ctx)
		wantCheck(t, checks, "slots", doctor.Fail, "topic gone slot 1: a batch of 1, taken 1m", "by w1, whose lease ended 3", "s ago, and no worker takes it over; 1 message due behind it",
			fmt.Sprintf("topic busy slot %d: 1 due, the oldest for 1m", 1-at), ", and its worker w2", "takes none")
		found, err := i.Verify(ctx, nil, nil)
		if err != nil || len(found) != 1 || found[0].Rule != "STANDS" || found[0].Topic != gone.Name || found[0].Slot != 1 {
			t.Errorf("%+v, %v", found, err)
		}

		must.Do(t, rdb.Set(ctx, protocol.StoreKey(gone.Name, 0), "a string", 0).Err()) // the other slot is still seen
		checks = i.Doctor(ctx)
		wantCheck(t, checks, "messages", doctor.Fail, protocol.StoreKey(gone.Name, 0))
		wantCheck(t, checks, "slots", doctor.Fail, "topic gone slot 1: a batch of 1")
	})
}
