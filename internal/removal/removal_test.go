package removal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

var ctx = context.Background()

// onEach runs a test on a Redis and on a Cluster.
func onEach(t *testing.T, test func(t *testing.T, rdb redis.UniversalClient)) {
	t.Helper()
	t.Parallel()
	t.Run("redis", func(t *testing.T) { test(t, servertest.LentRedis(t).Client(t)) })
	t.Run("cluster", func(t *testing.T) { test(t, servertest.LentCluster(t).Client(t)) })
}

var orders = message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4}

// defined is a topic that a producer has defined, and that holds nothing. It returns what deletes it.
func defined(t *testing.T, rdb redis.UniversalClient) Topic {
	t.Helper()
	p, err := producer.New(rdb, producer.Config{})
	must.Do(t, err)
	r, err := p.Send(ctx, orders, message.Priority{Content: "x", Priority: 17})
	must.Do(t, err)
	must.Do(t, p.Close(ctx))
	must.Do(t, rdb.Del(ctx, protocol.StoreKey("orders", r.Slot)).Err())
	return Topic{Name: "orders", Slots: 4}
}

// keysOf are all keys of the topic that there are.
func keysOf(t *testing.T, rdb redis.UniversalClient) (left []string) {
	t.Helper()
	all := protocol.OfTopic("orders")
	for slot := range 4 {
		all = append(all, protocol.OfSlot("orders", slot)...)
	}
	for _, key := range all {
		n, err := rdb.Exists(ctx, key).Result()
		must.Do(t, err)
		if n > 0 {
			left = append(left, key)
		}
	}
	listed, err := rdb.SIsMember(ctx, protocol.TopicsKey, "orders").Result()
	must.Do(t, err)
	if listed {
		left = append(left, protocol.TopicsKey)
	}
	return left
}

// A plan in a slot that is not named among those with plans is named, so that it can be found and ended.
func TestPlansAreNoted(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		topic := defined(t, rdb)
		must.Do(t, rdb.ZAdd(ctx, protocol.PlanKey("orders", 2), redis.Z{Member: "hourly", Score: 17}).Err())
		if err := topic.Delete(ctx, rdb); err == nil || !strings.Contains(err.Error(), "there is something in slot 2 again") {
			t.Error(err)
		}
		if noted := rdb.SMembers(ctx, protocol.PlansKey("orders")).Val(); !slices.Equal(noted, []string{"2"}) {
			t.Errorf("noted are %q", noted)
		}
	})
}

// All keys go that a topic may have, also those that no script here writes, and its neighbours stay.
func TestDelete(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		topic := defined(t, rdb)
		empty := []string{protocol.DefinitionKey("orders"), protocol.WorkersKey("orders"), protocol.TakersKey("orders")}
		for slot := range 4 {
			k := protocol.KeysOf("orders", slot)
			empty = append(empty, k.Store, k.Prepare, k.Retry, k.Dead, protocol.PlanKey("orders", slot))
			for _, key := range protocol.OfSlot("orders", slot) {
				if !slices.Contains(empty, key) {
					must.Do(t, rdb.HSet(ctx, key, "left", "over").Err())
				}
			}
		}
		for _, key := range protocol.OfTopic("orders") {
			if !slices.Contains(empty, key) {
				must.Do(t, rdb.Set(ctx, key, "left over", 0).Err())
			}
		}
		gone := float64(time.Now().Add(-time.Hour).UnixMilli())
		must.Do(t, rdb.ZAdd(ctx, protocol.WorkersKey("orders"), redis.Z{Member: "killed", Score: gone}).Err())
		must.Do(t, rdb.ZAdd(ctx, protocol.TakersKey("orders"), redis.Z{Member: "killed", Score: gone}).Err())
		must.Do(t, rdb.ZAdd(ctx, "orders_4", redis.Z{Member: "of orders_4, a topic or a slot", Score: 17}).Err())
		must.Do(t, rdb.SAdd(ctx, protocol.TopicsKey, "other").Err())
		if n := len(keysOf(t, rdb)); n != 4*7+9+1 {
			t.Errorf("%d keys to begin with: %q", n, keysOf(t, rdb))
		}
		must.Do(t, topic.Delete(ctx, rdb))
		ended := []string{protocol.EndedKey("orders")} // which goes by itself
		if left := keysOf(t, rdb); !slices.Equal(left, ended) {
			t.Errorf("left: %q", left)
		}
		if rdb.ZCard(ctx, "orders_4").Val() != 1 || !rdb.SIsMember(ctx, protocol.TopicsKey, "other").Val() {
			t.Error("a neighbour was deleted")
		}
		must.Do(t, topic.Delete(ctx, rdb)) // as after an answer that was lost
		if left := keysOf(t, rdb); !slices.Equal(left, ended) {
			t.Errorf("left: %q", left)
		}
	})
}

// Whatever waits, flies or takes keeps the topic, and what it is.
func TestNotDeleted(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		topic := defined(t, rdb)
		k := protocol.KeysOf("orders", 3)
		paused := protocol.KeysOf("orders", 0).Meta
		must.Do(t, rdb.HSet(ctx, paused, "paused", 1).Err()) // goes at last, if at all
		must.Do(t, rdb.SAdd(ctx, protocol.PlansKey("orders"), 3).Err())
		soon := float64(time.Now().Add(time.Hour).UnixMilli())
		for key, says := range map[string]string{
			k.Store: "slot 3 again", k.Prepare: "slot 3 again", k.Retry: "slot 3 again", k.Dead: "slot 3 again", protocol.PlanKey("orders", 3): "slot 3 again",
			protocol.WorkersKey("orders"): "takes from it", protocol.TakersKey("orders"): "takes from it",
		} {
			must.Do(t, rdb.ZAdd(ctx, key, redis.Z{Member: "x", Score: soon}).Err())
			before := append(keysOf(t, rdb), fmt.Sprint(rdb.HGetAll(ctx, protocol.DefinitionKey("orders")).Val()))
			if err := topic.Delete(ctx, rdb); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", key, err)
			}
			if after := append(keysOf(t, rdb), fmt.Sprint(rdb.HGetAll(ctx, protocol.DefinitionKey("orders")).Val())); !slices.Equal(after, before) {
				t.Errorf("%s: before %q, after %q", key, before, after)
			}
			must.Do(t, rdb.Del(ctx, key).Err())
		}
		must.Do(t, rdb.ZAdd(ctx, k.Prepare, redis.Z{Member: "its worker is dead, or is not", Score: soon}).Err())
		topic.InFlight = true
		must.Do(t, rdb.HSet(ctx, k.Meta, "lease", 0).Err())
		if err := topic.Delete(ctx, rdb); err == nil || !strings.Contains(err.Error(), "only ZooKeeper knows") || rdb.ZCard(ctx, k.Prepare).Val() != 1 {
			t.Errorf("while ZooKeeper judges it: %v", err)
		}
		waiting := redis.Z{Member: "waits", Score: 17}
		must.Do(t, rdb.ZAdd(ctx, k.Store, waiting).Err())
		if err := topic.InTheWay(ctx, rdb); err == nil || !strings.Contains(err.Error(), "only ZooKeeper knows") {
			t.Errorf("before anything is deleted, while ZooKeeper judges it: %v", err)
		}
		must.Do(t, rdb.HSet(ctx, k.Meta, "lease", int64(2*time.Hour/time.Millisecond), "until", int64(soon)).Err())
		if err := topic.InTheWay(ctx, rdb); err == nil || !strings.Contains(err.Error(), "slot 3 is in flight, by a lease until ") {
			t.Errorf("before anything is deleted, while a worker has it: %v", err)
		}
		must.Do(t, rdb.Del(ctx, k.Store).Err())
		if err := topic.Delete(ctx, rdb); err == nil || !strings.Contains(err.Error(), "slot 3 is in flight, by a lease until ") || rdb.ZCard(ctx, k.Prepare).Val() != 1 {
			t.Errorf("while a worker has it: %v", err)
		}
		must.Do(t, rdb.HSet(ctx, k.Meta, "lease", 1000).Err()) // so it cannot be: the clock has stepped back
		must.Do(t, topic.InTheWay(ctx, rdb))
		must.Do(t, topic.Delete(ctx, rdb))
		if left := keysOf(t, rdb); left != nil {
			t.Errorf("left: %q", left)
		}
	})
}

// before is a hook that does something before the commands of one name.
type before struct {
	name string
	do   func()
}

func (b before) DialHook(next redis.DialHook) redis.DialHook { return next }
func (b before) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == b.name {
			b.do()
		}
		return next(ctx, cmd)
	}
}
func (b before) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A message that is stored behind the look at its slot keeps the topic, and so does a worker that comes then. But a
// topic that was defined anew in between is not made the old one.
func TestMeanwhile(t *testing.T) {
	t.Parallel()
	server := servertest.LentRedis(t)
	rdb := server.Client(t)
	send := func() { rdb.ZAdd(ctx, protocol.StoreKey("orders", 0), redis.Z{Member: "new", Score: 17}) }
	join := func() {
		rdb.ZAdd(ctx, protocol.WorkersKey("orders"), redis.Z{Member: "new", Score: float64(time.Now().Add(time.Hour).UnixMilli())})
	}
	plan := func() { rdb.ZAdd(ctx, protocol.PlanKey("orders", 2), redis.Z{Member: "hourly", Score: 17}) }
	define := func() { rdb.HSet(ctx, protocol.DefinitionKey("orders"), "kind", "another") }
	for _, c := range []struct {
		name       string // of the command before which something happens
		do         func()
		says, kind string
	}{
		{"hgetall", send, "came meanwhile", "priority"},
		{"srem", send, "came meanwhile", "priority"},
		{"exists", send, "came meanwhile", "priority"},
		{"exists", plan, "came meanwhile", "priority"},
		{"srem", join, "takes from it", "priority"},
		{"exists", func() { send(); define() }, "came meanwhile", "another"},
	} {
		topic := defined(t, rdb)
		want := rdb.HGetAll(ctx, protocol.DefinitionKey("orders")).Val()
		if c.kind == "another" {
			want = map[string]string{"kind": c.kind}
		}
		deletes := server.Client(t)
		var once sync.Once
		deletes.AddHook(before{c.name, func() { once.Do(c.do) }})
		if err := topic.Delete(ctx, deletes); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := rdb.HGetAll(ctx, protocol.DefinitionKey("orders")).Val(); !maps.Equal(got, want) || want["kind"] != c.kind {
			t.Errorf("%s: the definition is %v, want %v", c.name, got, want)
		}
		if !rdb.SIsMember(ctx, protocol.TopicsKey, "orders").Val() {
			t.Errorf("%s: the topic is not listed", c.name)
		}
		if planned := rdb.ZCard(ctx, protocol.PlanKey("orders", 2)).Val() > 0; rdb.SIsMember(ctx, protocol.PlansKey("orders"), 2).Val() != planned {
			t.Errorf("%s: slot 2 has plans: %v, and is not listed so", c.name, planned)
		}
		must.Do(t, rdb.FlushAll(ctx).Err())
	}
}
