package inspector

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

func idle(context.Context, *consumer.Delivery) error { return nil }

// everySlot checks that workers have all slots of a topic, each once.
func everySlot(t testing.TB, of func(Worker) map[string][]int, workers []Worker, topic message.Topic) {
	t.Helper()
	var all []int
	for _, w := range workers {
		all = append(all, of(w)[topic.Name]...)
	}
	slices.Sort(all)
	if len(all) != topic.Slots || len(slices.Compact(all)) != topic.Slots {
		t.Errorf("slots of topic %s: %v", topic.Name, all)
	}
}

func assigned(w Worker) map[string][]int { return w.Assigned }
func held(w Worker) map[string][]int     { return w.Held }

func TestWorkersByRedis(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		if none, err := i.Workers(ctx); err != nil || len(none) != 0 {
			t.Errorf("%+v, %v", none, err)
		}
		orders := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 8}
		mails := message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 4}
		first := work(t, rdb, consumer.Config{Worker: "first", Lease: 10 * time.Minute}, orders, idle)
		second := work(t, rdb, consumer.Config{Worker: "second", Lease: 10 * time.Minute}, orders, idle)
		third := work(t, rdb, consumer.Config{Worker: "third", Lease: 10 * time.Minute}, mails, idle)
		listed := func(topic message.Topic) int64 { return rdb.ZCard(ctx, protocol.WorkersKey(topic.Name)).Val() }
		await.True(t, "the second one's trial is over", func() bool { return listed(orders) == 2 && listed(mails) == 1 })
		zadd(t, rdb, protocol.WorkersKey(orders.Name), "gone", time.Now().Add(-time.Minute).UnixMilli())

		workers, err := i.Workers(ctx)
		must.Do(t, err)
		var ids []string
		for _, w := range workers {
			ids = append(ids, w.ID)
			counts := 10 * time.Minute
			if w.ID == second.Worker() && time.Until(w.Until) < counts/2 { // a newcomer counts for seconds at first
				counts = 0
			}
			if d := time.Until(w.Until); w.Held != nil || w.Host != "" || w.Leaving || d < counts-await.Patience || d > counts+await.Patience || len(w.Assigned) != 1 {
				t.Errorf("%+v", w)
			}
		}
		want := []string{first.Worker(), second.Worker(), third.Worker()}
		slices.Sort(want)
		if !slices.Equal(ids, want) {
			t.Fatalf("%v, want %v", ids, want)
		}
		everySlot(t, assigned, workers, orders)
		everySlot(t, assigned, workers, mails)

		all, err := i.Slots(ctx, orders.Name)
		must.Do(t, err)
		for _, s := range all {
			at := slices.IndexFunc(workers, func(w Worker) bool { return w.ID == s.Worker })
			if at < 0 || !slices.Contains(workers[at].Assigned[orders.Name], s.Index) {
				t.Errorf("slot %d: worker %q", s.Index, s.Worker)
			}
		}
		if sum, err := i.Stats(ctx, orders.Name); err != nil || sum.Workers != 2 {
			t.Errorf("%+v, %v", sum, err)
		}
		if unseen, err := i.Unseen(ctx); err != nil || len(unseen) != 0 {
			t.Errorf("%v, %v", unseen, err)
		}
	})
}

// More workers than fit in one reply.
func TestManyWorkers(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 2048})
		must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey(topic.Name), "sharing", "redis").Err())
		until := time.Now().Add(time.Hour).UnixMilli()
		fill(t, rdb, protocol.WorkersKey(topic.Name), 1200, func(n int) redis.Z {
			return redis.Z{Member: fmt.Sprint("w", n), Score: float64(until)}
		})
		workers, err := i.Workers(ctx)
		if err != nil || len(workers) != 1200 {
			t.Errorf("%d, %v", len(workers), err)
		}
		everySlot(t, assigned, workers, topic)
	})
}

func TestWorkersByZooKeeper(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb := server.Client(t)
	zoo := servertest.SharedZooKeeper(t)
	sharing := slots.ZooKeeper(slots.ZooKeeperConfig{Servers: zoo.Servers(), Root: zoo.Chroot(t)})
	blind := newInspector(t, bounded(t, server.Client(t)), Config{})
	i := newInspector(t, bounded(t, server.Client(t)), Config{Slots: sharing})
	if none, err := i.Workers(ctx); err != nil || len(none) != 0 { // nobody has joined yet
		t.Errorf("%+v, %v", none, err)
	}
	orders := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 8}
	mails := message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 4}
	first := work(t, rdb, consumer.Config{Worker: "first", Slots: sharing}, orders, idle)
	second := work(t, rdb, consumer.Config{Worker: "second", Slots: sharing}, orders, idle)
	third := work(t, rdb, consumer.Config{Worker: "third"}, mails, idle)

	var workers []Worker
	await.True(t, "that they hold their slots", func() bool {
		all, err := i.Workers(ctx)
		must.Do(t, err)
		workers = all
		n := 0
		for _, w := range workers {
			n += len(w.Held[orders.Name])
		}
		return n == orders.Slots && len(workers) == 3 && len(workers[0].Held[orders.Name]) == 4
	})
	everySlot(t, held, workers, orders)
	everySlot(t, assigned, workers, orders)
	everySlot(t, assigned, workers, mails)
	for n, c := range []*consumer.Consumer{first, second} {
		if w := workers[n]; w.ID != c.Worker() || w.PID != os.Getpid() || w.Host == "" || w.Leaving || !w.Until.IsZero() || w.Assigned[mails.Name] != nil {
			t.Errorf("%+v", w)
		}
	}
	if w := workers[2]; w.ID != third.Worker() || w.Held != nil || w.Until.IsZero() {
		t.Errorf("%+v", w)
	}
	all, err := i.Slots(ctx, orders.Name)
	must.Do(t, err)
	for _, s := range all {
		if s.Worker != first.Worker() && s.Worker != second.Worker() || s.Unseen {
			t.Errorf("%+v", s)
		}
	}
	if sum, err := i.Stats(ctx, orders.Name); err != nil || sum.Workers != 2 || sum.Topic.Sharing != "zookeeper" {
		t.Errorf("%+v, %v", sum, err)
	}
	if unseen, err := i.Unseen(ctx); err != nil || len(unseen) != 0 {
		t.Errorf("%v, %v", unseen, err)
	}

	// Who is not told of ZooKeeper says so, and sees the others.
	if unseen, err := blind.Unseen(ctx); err != nil || !slices.Equal(namesOf(unseen), []string{orders.Name}) {
		t.Errorf("%v, %v", unseen, err)
	}
	if sum, err := blind.Stats(ctx, orders.Name); err != nil || sum.Workers != -1 {
		t.Errorf("%+v, %v", sum, err)
	}
	if all, err := blind.Slots(ctx, orders.Name); err != nil || all[0].Worker != "" || !all[0].Unseen {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err := blind.Workers(ctx); err != nil || len(all) != 1 || all[0].ID != third.Worker() {
		t.Errorf("%+v, %v", all, err)
	}
}

// A ZooKeeper that does not answer keeps nobody from seeing what Redis has.
func TestZooKeeperAway(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	topic := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4})
	must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey(topic.Name), "sharing", "zookeeper").Err())
	send(t, rdb, topic, message.Priority{Content: "x", Priority: 17})
	zoo := servertest.ZooKeeper(t)
	zoo.Kill()
	i := newInspector(t, rdb, Config{Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: zoo.Servers(), SessionTimeout: 500 * time.Millisecond})})
	sum, err := i.Stats(ctx, topic.Name)
	if err != nil || sum.Waiting != 1 || sum.Workers != -1 {
		t.Errorf("%+v, %v", sum, err)
	}
	if e := explain(t, i, topic.Name, "x"); e.Waiting == nil || len(e.WaitsFor) != 0 {
		t.Errorf("%+v", e)
	}
	_, err = i.Workers(ctx)
	wantError(t, err, nil, "ask ZooKeeper who works", zoo.Addr())
	short, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := i.Stats(short, topic.Name); err == nil {
		t.Error("a cancelled context is not noticed")
	}
}

// A worker that only probes at a topic is seen, whatever those that are gone have left there.
func TestWorkersThatProbe(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		orders := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 8}
		c := work(t, rdb, consumer.Config{Worker: "first"}, orders, idle)
		scripts, since := protocol.New(rdb), time.UnixMilli(1_900_000_000_123)
		must.Do(t, scripts.Probing(ctx, orders.Name, c.Worker(), since, time.Minute))
		must.Do(t, scripts.Probing(ctx, orders.Name, "gone", since, time.Minute))
		probing := func() map[string]time.Time {
			workers, err := i.Workers(ctx)
			must.Do(t, err)
			if len(workers) != 1 {
				t.Fatalf("%+v", workers)
			}
			return workers[0].Probing
		}
		if got := probing(); len(got) != 1 || !got[orders.Name].Equal(since) {
			t.Errorf("%v", got)
		}
		must.Do(t, scripts.Probing(ctx, orders.Name, c.Worker(), time.Time{}, time.Minute))
		if got := probing(); got != nil {
			t.Errorf("%v", got)
		}
		if ttl := rdb.PTTL(ctx, protocol.ProbingKey(orders.Name)).Val(); ttl <= 0 || ttl > time.Minute {
			t.Errorf("forgotten in %v", ttl)
		}
	})
}
