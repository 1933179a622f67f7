package rmq

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// A client that only sends asks for a PING. One whose user may not send that gets an answer,
// too; and of a Cluster, one master that answers is enough.
func TestHealthOfASender(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	health := func(rdb redis.UniversalClient) error {
		client, err := New(Config{Redis: rdb})
		must.Do(t, err)
		defer client.Close(ctx)
		must.Do(t, client.Alive())
		return client.Health(await.Context(t))
	}
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		server := servertest.Redis(t)
		must.Do(t, health(server.Client(t)))
		must.Do(t, server.Client(t).Do(ctx, "acl", "setuser", "sender", "on", ">secret", "~*", "+@all", "-ping").Err())
		must.Do(t, health(server.Client(t, func(o *redis.Options) { o.Username, o.Password = "sender", "secret" })))
		if health(server.Client(t, func(o *redis.Options) { o.Username, o.Password = "nobody", "secret" })) == nil {
			t.Error("a wrong password is healthy")
		}
		server.Kill()
		if health(server.Client(t)) == nil {
			t.Error("a server that is gone is healthy")
		}
	})
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		c := servertest.Cluster(t, 3, 0)
		rdb := c.Client(t)
		must.Do(t, health(rdb))
		c.MasterOf(t, "x").Kill()
		must.Do(t, health(rdb))
		for _, s := range c.Nodes() {
			s.Kill()
		}
		if health(rdb) == nil {
			t.Error("a Cluster without servers is healthy")
		}
	})
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		client, err := New(Config{Redis: servertest.SharedRedis(t).Client(t)})
		must.Do(t, err)
		must.Do(t, client.Health(ctx))
		must.Do(t, client.Close(ctx))
		if client.Health(ctx) == nil {
			t.Error("a client that is closed is healthy")
		}
		if client.Health(nil) == nil { //nolint:staticcheck // on purpose
			t.Error("a nil context was taken")
		}
	})
}
