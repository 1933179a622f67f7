package rmq_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// tally counts deliveries by content.
type tally struct {
	mu   sync.Mutex
	seen map[string]int
	news chan struct{} // a content came for the first time
}

func (y *tally) OnMessage(_ context.Context, d *rmq.Delivery) error {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.seen[d.Content]++; y.seen[d.Content] == 1 {
		y.news <- struct{}{}
	}
	return nil
}

// onCluster starts a client with one listener.
func onCluster(t *testing.T, rdb redis.UniversalClient, topic rmq.Topic) (*rmq.Client, *tally) {
	t.Helper()
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		t.Fatal(err)
	}
	y := &tally{seen: map[string]int{}, news: make(chan struct{}, 100_000)}
	if err := client.Listen(topic, y, rmq.ListenOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return client, y
}

func priorities(prefix string, n int) (ms []rmq.Message) {
	for i := range n {
		ms = append(ms, rmq.Priority{Content: fmt.Sprint(prefix, i), Priority: 17})
	}
	return ms
}

// A topic of 64 slots lies on all masters of a Cluster, and every message is handled once. They are sent before, so that
// one that is sent again, since its answer came late, merges.
func TestClusterUsesAllMasters(t *testing.T) {
	t.Parallel()
	const messages = 2000
	ctx := context.Background()
	cluster := servertest.Cluster(t, 3, 0)
	rdb, topic := cluster.Client(t), rmq.Topic{Name: "wide", Kind: rmq.KindPriority, Slots: 64}
	sender, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sender.SendBatch(ctx, topic, priorities("m", messages)); err != nil {
		t.Fatal(err)
	}
	if err := sender.Close(ctx); err != nil {
		t.Fatal(err)
	}
	_, y := onCluster(t, rdb, topic)
	for range messages {
		await.Signal(t, "a message is handled", y.news)
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	for content, times := range y.seen {
		if times != 1 {
			t.Errorf("%s was handled %d times", content, times)
		}
	}
	onMaster := map[*servertest.Server]int{}
	for slot := range topic.Slots {
		onMaster[cluster.MasterOf(t, protocol.StoreKey(topic.Name, slot))]++
	}
	t.Logf("slots on each master: %v", onMaster)
	for _, n := range onMaster {
		if n < 10 {
			t.Errorf("a master has %d of %d slots", n, topic.Slots)
		}
	}
	if len(onMaster) != 3 {
		t.Errorf("%d masters have slots", len(onMaster))
	}
}

// A master is killed and its replica takes over: the worker finds it by itself,
// and handles what is sent then.
func TestClusterMasterKilled(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	cluster := servertest.Cluster(t, 3, 1)
	rdb, topic := cluster.Client(t), rmq.Topic{Name: "wide", Kind: rmq.KindPriority, Slots: 16}
	client, y := onCluster(t, rdb, topic)
	if _, err := client.SendBatch(ctx, topic, priorities("before", 200)); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		await.Signal(t, "a message is handled", y.news)
	}
	cluster.MasterOf(t, protocol.StoreKey(topic.Name, 0)).Kill()
	ms := priorities("after", 200)
	for { // until the replica is the master; what was sent before then merges or comes again
		if _, err := client.SendBatch(ctx, topic, ms); err == nil {
			break
		}
	}
	for range 200 {
		await.Signal(t, "a message is handled", y.news)
	}
}
