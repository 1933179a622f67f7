package rmq_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/slots"
)

var shared = rmq.Topic{Name: "orders", Kind: rmq.KindPriority, Slots: 4}

// works has a worker handle a message that it sends, and stops it.
func works(t *testing.T, client *rmq.Client, content string) {
	t.Helper()
	ctx := await.Context(t)
	handled := make(chan string, 1)
	if err := client.Listen(shared, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		handled <- d.Content
		return nil
	}), rmq.ListenOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Send(ctx, shared, rmq.Priority{Content: content, Priority: 100}); err != nil {
		t.Error(err)
	}
	if got := await.Signal(t, content+" is handled", handled); got != content {
		t.Errorf("handled %q, want %q", got, content)
	}
	if err := client.Close(ctx); err != nil {
		t.Error(err)
	}
}

// conflicts starts a worker that must not work beside the others.
func conflicts(t *testing.T, client *rmq.Client) {
	t.Helper()
	ctx := await.Context(t)
	if err := client.Listen(shared, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return nil }), rmq.ListenOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.Start(ctx); !errors.Is(err, rmq.ErrTopicConflict) {
		t.Errorf("a worker that shares in another way starts: %v", err)
	}
	if err := client.Close(ctx); err != nil {
		t.Error(err)
	}
}

// The steps of docs/DEPLOYMENT.md, "Changing how a topic is shared", there and back.
func TestSharingCanBeChanged(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	zoo := servertest.SharedZooKeeper(t)
	servers, root := zoo.Servers(), zoo.Chroot(t)
	byRedis := func() *rmq.Client { return newClient(t, rmq.Config{Redis: rdb}) }
	byZooKeeper := func() *rmq.Client {
		return newClient(t, rmq.Config{Redis: rdb, Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: servers, Root: root})})
	}

	works(t, byRedis(), "order 1")
	conflicts(t, byZooKeeper())
	change(t, rdb)
	works(t, byZooKeeper(), "order 2")
	conflicts(t, byRedis())
	change(t, rdb)
	conn := zoo.Client(t, 10*time.Second)
	for _, path := range []string{"/topics/orders", "/assign/orders"} {
		if err := conn.Delete(root+path, -1); err != nil {
			t.Errorf("delete %s: %v", path, err)
		}
	}
	works(t, byRedis(), "order 3")
	conflicts(t, byZooKeeper())
}

// change is what has to be done in Redis.
func change(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	ctx := context.Background()
	for slot := range shared.Slots {
		if n := rdb.ZCard(ctx, fmt.Sprintf("prepare{orders_%d}", slot)).Val(); n > 0 {
			t.Errorf("%d contents of slot %d are in flight", n, slot)
		}
	}
	if err := rdb.HSet(ctx, protocol.DefinitionKey("orders"), "sharing", "").Err(); err != nil {
		t.Fatal(err)
	}
}

func newClient(t *testing.T, cfg rmq.Config) *rmq.Client {
	t.Helper()
	client, err := rmq.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Two roots on one Redis would be two fleets that take each other for dead.
func TestSharingCanMoveToAnotherRoot(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	zoo := servertest.SharedZooKeeper(t)
	servers := zoo.Servers()
	at := func(root string) *rmq.Client {
		return newClient(t, rmq.Config{Redis: rdb, Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: servers, Root: root})})
	}
	first, second := zoo.Chroot(t), zoo.Chroot(t)
	works(t, at(first), "order 1")
	conflicts(t, at(second))
	works(t, at(first), "order 2")
	if err := rdb.HDel(context.Background(), protocol.DefinitionKey("orders"), "tree").Err(); err != nil {
		t.Fatal(err)
	}
	works(t, at(second), "order 3")
	conflicts(t, at(first))
}

// The line that README.md shows.
func TestSharingByZooKeeperIsOneLine(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	zoo := servertest.SharedZooKeeper(t)
	servers := zoo.Servers()

	client, err := rmq.New(rmq.Config{Redis: rdb, Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: servers})})
	if err != nil {
		t.Fatal(err)
	}
	works(t, client, "order 4711")
	if there, _, err := zoo.Client(t, 10*time.Second).Exists("/rmq/topics/orders"); !there || err != nil {
		t.Errorf("nothing of it is in ZooKeeper: %v", err)
	}
}
