package inspector

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// One master is silent, and the topic has thousands of slots. It is waited for once, and
// again only when a look takes longer than its silence counts: not for each slot that it has,
// and not for each hundred of them.
func TestSilentMasterIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 0)
	rdb := c.Client(t)
	topic := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindFixedTime, Slots: 4096})
	must.Do(t, rdb.SAdd(ctx, protocol.TopicsKey, topic.Name).Err())
	i := newInspector(t, rdb, Config{})
	hidden := 0
	hanging := c.MasterOf(t, protocol.KeysOf(topic.Name, 0).Store)
	for _, key := range []string{protocol.TopicsKey, protocol.DefinitionKey(topic.Name), protocol.WorkersKey(topic.Name)} {
		if c.MasterOf(t, key) == hanging {
			t.Fatalf("%s is there as well: choose another topic", key)
		}
	}
	for slot := range topic.Slots {
		if _, addr, err := cluster.MasterFor(ctx, rdb, protocol.KeysOf(topic.Name, slot).Store); err == nil && addr == hanging.Addr() {
			hidden++
		}
	}
	hanging.Pause()
	defer hanging.Resume()
	// A quiet machine needs some 3 s for each. To wait in each pipeline would take 80 s.
	const bound = 40 * time.Second
	begun := time.Now()
	stats, err := i.Stats(ctx, topic.Name)
	night.AtMost(t, "stats", time.Since(begun), bound)
	if err == nil || stats.Read != topic.Slots-hidden {
		t.Errorf("stats: %d of %d slots, %v", stats.Read, topic.Slots, err)
	}
	begun = time.Now()
	checks := newInspector(t, rdb, Config{}).Doctor(ctx)
	night.AtMost(t, "the doctor", time.Since(begun), bound)
	wantCheck(t, checks, "connection", doctor.Fail, hanging.Addr())
	wantCheck(t, checks, "messages", doctor.Fail, "server "+hanging.Addr()+" does not answer")
}
