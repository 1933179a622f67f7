package consumer

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// The master of the list of all topics hangs, and has nothing else of the topic.
// The worker stays in the topic's list of members, which is on another one.
func TestListOfTopicsKeepsNobodyFromBeingAMember(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 2, 0)
	rdb := cluster.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout = time.Hour }) // hangs with the server
	hung := cluster.MasterOf(t, protocol.TopicsKey)
	var topic message.Topic
	for topic.Name == "" {
		topic = topicOf(t, message.KindPriority, 1)
		if cluster.MasterOf(t, protocol.WorkersKey(topic.Name)) == hung || cluster.MasterOf(t, keysOf(topic, 0).Store) == hung {
			topic.Name = ""
		}
	}
	c := newConsumer(t, rdb, Config{Lease: time.Second})
	c.recheck = 100 * time.Millisecond
	must.Do(t, c.Listen(topic, newNotes().done(), ListenOptions{}))
	start(t, c)
	direct := cluster.MasterOf(t, protocol.WorkersKey(topic.Name)).Client(t)
	hung.Pause()
	defer hung.Resume()
	seen := map[float64]bool{}
	await.True(t, "the worker goes on refreshing its entry", func() bool {
		seen[direct.ZScore(ctx, protocol.WorkersKey(topic.Name), c.Worker()).Val()] = true
		return len(seen) > 4
	})
}

// Redis loses everything while the worker keeps its connection: it is in the topic's list again as soon as it works at
// a slot, long before it would refresh its entry.
func TestEntryThatRedisForgets(t *testing.T) {
	t.Parallel()
	rdb, topic := servertest.Redis(t).Client(t), topicOf(t, message.KindPriority, 1)
	s, n := newSender(t, rdb, topic), newNotes()
	c := newConsumer(t, rdb, Config{Lease: time.Hour})
	c.recheck = time.Hour
	must.Do(t, c.Listen(topic, n.done(), ListenOptions{}))
	start(t, c)
	s.send(t, "before")
	n.awaitAll(t, []string{"before"})
	must.Do(t, rdb.FlushAll(ctx).Err())
	s.send(t, "after")
	await.True(t, "the worker is in the list again", func() bool { return rdb.ZCard(ctx, protocol.WorkersKey(topic.Name)).Val() == 1 })
}
