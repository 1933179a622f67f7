package rmq_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// plainBatch is what Redis executes for a batch of a topic that asks for nothing more: a ZADD, a wake-up, and two
// turns with what they call. It is as it was before there were notes, plans and unique messages.
var plainBatch = map[string]int{
	"zadd": 2, "publish": 1, "evalsha": 2,
	"del": 1, "hmget": 2, "hset": 1, "time": 2, "zcard": 1, "zcount": 1, "zrange": 2, "zremrangebyrank": 1, "zrevrange": 3,
}

// A plain topic pays nothing for what others ask for. Of some batches, one is beside nothing else that a worker does.
func TestPlainBatchCostsNothingMore(t *testing.T) {
	t.Parallel()
	ctx, rdb := context.Background(), servertest.Redis(t).Client(t)
	topic := rmq.Topic{Name: "orders", Kind: rmq.KindPriority, Slots: 1}
	client := newClient(t, rmq.Config{Redis: rdb})
	handled := make(chan struct{})
	must.Do(t, client.Listen(topic, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error {
		handled <- struct{}{}
		return nil
	}), rmq.ListenOptions{}))
	must.Do(t, client.Start(ctx))
	defer client.Close(ctx)
	var got map[string]int
	for i := range 20 {
		must.Do(t, rdb.ConfigResetStat(ctx).Err())
		messages := make([]rmq.Message, 8)
		for j := range messages {
			messages[j] = rmq.Priority{Content: fmt.Sprint(i, " ", j), Priority: 100}
		}
		_, err := client.SendBatch(ctx, topic, messages)
		must.Do(t, err)
		for range messages {
			await.Signal(t, "each is handled", handled)
		}
		for rdb.Type(ctx, "prepare{orders_0}").Val() != "none" { // until the turn that finishes it
		}
		got = commandsOf(t, rdb.Info(ctx, "commandstats").Val())
		delete(got, "config|resetstat")
		delete(got, "type")
		if maps.Equal(got, plainBatch) {
			return
		}
	}
	t.Errorf("a batch costs %v, not %v", got, plainBatch)
}

// commandsOf reads how often each command was called, also by scripts.
func commandsOf(t *testing.T, stats string) map[string]int {
	counts := map[string]int{}
	for line := range strings.Lines(stats) {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls="); ok {
			n := 0
			_, err := fmt.Sscanf(rest, "%d,", &n)
			must.Do(t, err)
			counts[name] = n
		}
	}
	return counts
}
