package poll

import (
	"context"
	"errors"
	"testing"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// listens starts a worker.
func listens(t *testing.T, s *shop, cfg consumer.Config) error {
	t.Helper()
	c, err := consumer.New(s.rdb, cfg)
	must.Do(t, err)
	must.Do(t, c.Listen(s.topic, consumer.ListenerFunc(func(context.Context, *consumer.Delivery) error { return nil }), consumer.ListenOptions{}))
	t.Cleanup(func() { must.Do(t, c.Close(await.CleanupContext(t))) })
	return c.Start(await.Context(t))
}

// A topic that is shared by ZooKeeper cannot be taken from; and one that is taken from cannot be shared by it. The first
// take says so in the definition, also if it finds nothing.
func TestZooKeeperTopicsAreRefused(t *testing.T) {
	t.Parallel()
	zk := servertest.SharedZooKeeper(t)
	byZooKeeper := consumer.Config{Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: zk.Servers(), Root: zk.Chroot(t)})}
	rdb := servertest.Redis(t).Client(t)
	theirs := shopOn(t, rdb, message.Topic{Name: "theirs", Kind: message.KindPriority, Slots: 4})
	must.Do(t, listens(t, theirs, byZooKeeper))
	p := theirs.poller(Config{})
	for range 2 {
		if h, err := p.Take(ctx, []string{"theirs"}, Take{}); h != nil || !errors.Is(err, ErrZooKeeper) {
			t.Errorf("%v, %v", h, err)
		}
	}
	ours := shopOn(t, rdb, message.Topic{Name: "ours", Kind: message.KindPriority, Slots: 4})
	ours.sends("x")
	p = ours.poller(Config{})
	ours.finish(p, ours.take(p, Take{}), true)
	if how := rdb.HGet(ctx, protocol.DefinitionKey("ours"), "sharing").Val(); how != "redis" {
		t.Errorf("sharing %q", how)
	}
	if err := listens(t, ours, byZooKeeper); !errors.Is(err, message.ErrTopicConflict) {
		t.Errorf("a worker with ZooKeeper starts: %v", err)
	}
	must.Do(t, listens(t, ours, consumer.Config{}))
	// What it shares by is compared at each opening.
	must.Do(t, p.Close(await.Context(t)))
	must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey("ours"), "sharing", "zookeeper", "tree", "1").Err())
	if _, err := ours.poller(Config{}).Take(ctx, []string{"ours"}, Take{}); !errors.Is(err, ErrZooKeeper) {
		t.Error(err)
	}
}
