package commands

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// Something that is stored under a name which no program of ours would take is reported,
// and does no harm.
func TestStrangeTopics(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	define(t, s.rdb, "orders")
	must.Do(t, s.rdb.SAdd(ctx, protocol.TopicsKey, "or\x1b[31m", "or\u009b31m", "or\nder").Err())
	if r := s.call(t, "__complete", "stats", "or"); r.code != 0 || !strings.HasPrefix(r.out, "orders\n:") {
		t.Errorf("%+v", r)
	}
	for _, args := range [][]string{{"stats"}, {"stats", "--slots"}, {"stats", "--json"}, {"stats", "--slots", "--json"}} {
		r := s.answered("", args...)
		if r.code != 1 || !strings.Contains(r.out, "orders") || !strings.Contains(r.errs, "have no definition that can be read: the doctor says more") ||
			strings.Count(r.errs, "\n") != 1 || strings.ContainsAny(r.out+r.errs, "\x1b\u009b") {
			t.Errorf("%q: %+v", args, r)
		}
		if args[len(args)-1] == "--json" && strings.Count(r.out, `"error":"it has no definition that can be read"`) != 3 {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// A list that is empty is written as one: who reads it in a loop must not stumble over null.
func TestJSONHasNoNull(t *testing.T) {
	t.Parallel()
	server, zoo := servertest.Redis(t), servertest.SharedZooKeeper(t)
	root := zoo.Chroot(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	stage(t, s.rdb)
	one := rangeMerge("one")
	one.Slots = 1
	shared := one
	shared.Name = "shared"
	// Of two workers at one slot, one has none.
	for range 2 {
		work(t, s.rdb, consumer.Config{}, one)
		work(t, s.rdb, consumer.Config{Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: zoo.Servers(), Root: root})}, shared)
	}
	with := []string{"--json", "--zk", strings.Join(zoo.Servers(), ","), "--zk-root", root}
	await.True(t, "all four have joined, and one has a slot of each topic", func() bool {
		return strings.Count(s.call(t, append([]string{"workers"}, with...)...).out, `:[0]`) >= 2
	})
	for _, args := range []string{
		"topics", "stats", "stats --slots", "slots one", "slots shared", "workers", "peek orders", "peek orders --state dead", "explain orders sleepy",
		"explain orders hopeless", "dead list orders", "dead show orders hopeless", "dead export orders", "verify", "doctor", "pause one --yes", "resume one",
		"cancel orders sleepy", "dead requeue orders --yes", "dead delete orders --yes", "purge orders --yes",
	} {
		r := s.call(t, append(strings.Fields(args), with...)...)
		if r.code != 0 || strings.Contains(r.out, "null") {
			t.Errorf("rmq %s: %+v", args, r)
		}
	}
}

// work starts a worker that has nothing to do. It is closed with the test.
func work(t testing.TB, rdb redis.UniversalClient, cfg consumer.Config, topic message.Topic) *consumer.Consumer {
	t.Helper()
	c, err := consumer.New(rdb, cfg)
	must.Do(t, err)
	must.Do(t, c.Listen(topic, consumer.ListenerFunc(func(context.Context, *consumer.Delivery) error { return nil }), consumer.ListenOptions{}))
	must.Do(t, c.Start(ctx))
	t.Cleanup(func() { must.Do(t, c.Close(await.CleanupContext(t))) })
	return c
}
