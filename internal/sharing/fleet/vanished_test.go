package fleet

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// A worker that was renewed, has come or has gone has not vanished.
func TestVanished(t *testing.T) {
	t.Parallel()
	before := map[string]presence{"lives": {until: 1000}, "killed": {until: 1000}, "left": {until: 1000}}
	after := map[string]presence{"lives": {until: 1001}, "killed": {until: 1000}, "new": {until: 1000}}
	if got := slices.Collect(maps.Keys(vanished(before, after))); !slices.Equal(got, []string{"killed"}) {
		t.Errorf("%v", got)
	}
}

// A Redis that hangs while a worker looks for others does not hold up its Close.
func TestCloseDoesNotWaitForTheLook(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb := server.Client(t, func(o *redis.Options) { o.ReadTimeout = time.Hour })
	f := &byRedis{parts: &parts{Config: Config{Redis: rdb, Life: lifetime.New(), Lease: time.Hour, Topics: []*Topic{{Topic: message.Topic{Name: "orders"}, Qualified: "orders"}}}}}
	defer f.Life.End(nil)
	server.Pause()
	defer server.Resume()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.run()
	}()
	await.Silence(t, "the end of the look", ended, 50*time.Millisecond)
	f.Life.EndBackground()
	await.Signal(t, "the end of the look", ended)
}
