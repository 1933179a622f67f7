package rmq_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// A master that is gone, or hangs, does not keep a worker from starting; one that
// answers and is unfit does, and so do masters of which none answers.
func TestStartAsksTheMastersThatAnswer(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	cluster := servertest.Cluster(t, 3, 0)
	orders := rmq.Topic{Name: "orders", Kind: rmq.KindPriority}
	needed := []*servertest.Server{ // they hold what is the topic's, not a slot's
		cluster.MasterOf(t, protocol.DefinitionKey(orders.Name)), cluster.MasterOf(t, protocol.TopicsKey),
	}
	var spare *servertest.Server
	for _, s := range cluster.Nodes() {
		if s != needed[0] && s != needed[1] {
			spare = s
		}
	}
	newClient := func() redis.UniversalClient {
		return cluster.Client(t, func(o *redis.ClusterOptions) { o.DialerRetries, o.MaxRetries, o.ReadTimeout = 1, -1, time.Second })
	}
	try := func(rdb redis.UniversalClient) error {
		client, err := startWorker(rdb, orders, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return nil }), rmq.Config{})
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		_ = client.Close(short) // slots of a master that does not answer cannot be left
		return err
	}
	// A busy master may take longer than clients wait here, so both try again until it has answered in time.
	starts := func(what string, rdb redis.UniversalClient) {
		t.Helper()
		await.Nil(t, what+": a worker starts", func() error { return try(rdb) })
	}
	says := func(rdb redis.UniversalClient, text string) {
		t.Helper()
		await.Nil(t, fmt.Sprintf("%q", text), func() error {
			if err := try(rdb); err == nil || !strings.Contains(err.Error(), text) {
				return fmt.Errorf("got %v", err)
			}
			return nil
		})
	}
	informed := newClient() // knows the masters
	starts("all are there", informed)
	unfit := func(policy string) {
		if err := spare.Client(t).ConfigSet(ctx, "maxmemory-policy", policy).Err(); err != nil {
			t.Fatal(err)
		}
	}
	unfit("allkeys-lru")
	says(newClient(), "server "+spare.Addr()+": Redis evicts keys")
	unfit("noeviction")

	spare.Pause()
	starts("one master hangs", newClient())
	spare.Resume()
	spare.Kill()
	starts("one master is gone", newClient())
	for _, s := range cluster.Nodes() {
		s.Kill()
	}
	says(informed, "Redis does not answer at ")
	says(newClient(), "connection refused") // nobody knows who the masters are
}
