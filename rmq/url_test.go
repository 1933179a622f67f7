package rmq_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

func addrs(servers []*servertest.Server) string {
	var all []string
	for _, s := range servers {
		all = append(all, s.Addr())
	}
	return strings.Join(all, ",")
}

// handled sends a message and returns when a worker has handled it.
func handled(t *testing.T, cfg rmq.Config) {
	t.Helper()
	ctx := context.Background()
	client, err := rmq.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	orders, done := rmq.Topic{Name: "orders", Kind: rmq.KindPriority}, make(chan struct{})
	err = client.Listen(orders, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { close(done); return nil }), rmq.ListenOptions{})
	if err == nil {
		err = client.Start(ctx)
	}
	if err == nil {
		_, err = client.Send(ctx, orders, rmq.Priority{Content: "x", Priority: 17})
	}
	if err == nil {
		await.Signal(t, "the message is handled", done)
	}
	for range 2 { // a second time does no harm
		err = errors.Join(err, client.Close(ctx))
	}
	if err != nil {
		t.Error(err)
	}
	if cfg.Redis == nil {
		if _, err := client.Send(ctx, rmq.Topic{Name: "late", Kind: rmq.KindPriority}, rmq.Priority{Content: "x", Priority: 17}); !errors.Is(err, redis.ErrClosed) && !errors.Is(err, rmq.ErrClosed) {
			t.Errorf("the client of a URL is open after Close: %v", err)
		}
	}
}

// keyspace tells which databases of a server hold keys.
func keyspace(t *testing.T, server *servertest.Server) (databases []string) {
	t.Helper()
	info, err := server.Client(t).Info(context.Background(), "keyspace").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(info) {
		if db, _, found := strings.Cut(line, ":keys="); found {
			databases = append(databases, db)
		}
	}
	return databases
}

// A URL does what a client of one's own does, and a database number keeps to that
// database.
func TestURLAndDatabase(t *testing.T) {
	t.Parallel()
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		server := servertest.Redis(t, "--requirepass", "secret")
		handled(t, rmq.Config{URL: "redis://:secret@" + server.Addr() + "/3"})
		if got := keyspace(t, server); len(got) != 1 || got[0] != "db3" {
			t.Errorf("keys in %v", got)
		}
		handled(t, rmq.Config{Redis: server.Client(t, func(o *redis.Options) { o.DB = 4 })})
		if got := keyspace(t, server); len(got) != 2 || got[1] != "db4" {
			t.Errorf("keys in %v", got)
		}
	})
	t.Run("TLS", func(t *testing.T) {
		t.Parallel()
		server := servertest.TLS(t)
		handled(t, rmq.Config{URL: "rediss://:secret@" + server.Addr() + "?skip_verify=true"})
	})
	t.Run("Sentinel", func(t *testing.T) {
		t.Parallel()
		group := servertest.Sentinel(t, "--requirepass", "secret")
		handled(t, rmq.Config{URL: "redis-sentinel://:secret@" + addrs(group.Sentinels()) + "/3?master_name=mymaster"})
		if got := keyspace(t, group.Master(t)); len(got) != 1 || got[0] != "db3" {
			t.Errorf("keys in %v", got)
		}
		handled(t, rmq.Config{Redis: group.Client(t, func(o *redis.FailoverOptions) { o.DB = 4 })})
		if got := keyspace(t, group.Master(t)); len(got) != 2 || got[1] != "db4" {
			t.Errorf("keys in %v", got)
		}
	})
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		cluster := servertest.Cluster(t, 3, 0, "--requirepass", "secret")
		handled(t, rmq.Config{URL: "redis-cluster://:secret@" + addrs(cluster.Nodes())})
	})
}

// Channels do not know databases: a worker is woken for messages in another one,
// finds nothing, and goes on.
func TestSameTopicInTwoDatabases(t *testing.T) {
	t.Parallel()
	ctx, server, topic := context.Background(), servertest.Redis(t), rmq.Topic{Name: "orders", Kind: rmq.KindPriority, Slots: 1}
	in := func(db int) (*rmq.Client, *tally) {
		return onCluster(t, server.Client(t, func(o *redis.Options) { o.DB = db }), topic)
	}
	three, of3 := in(3)
	four, of4 := in(4)
	for i := range 50 {
		for _, c := range []*rmq.Client{three, four} {
			if _, err := c.SendBatch(ctx, topic, priorities(fmt.Sprint(i, " "), 2)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, y := range []*tally{of3, of4} {
		for range 100 {
			await.Signal(t, "each is handled", y.news)
		}
		y.mu.Lock()
		for content, times := range y.seen {
			if times != 1 {
				t.Errorf("%s was handled %d times", content, times)
			}
		}
		y.mu.Unlock()
	}
}

func TestURLIsChecked(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	var none *redis.ClusterClient
	for says, cfg := range map[string]rmq.Config{
		"Config.URL is given beside Config.Redis; it must be the only one": {Redis: rdb, URL: "redis://h"},
		"Config.Redis is nil; it must be a client of go-redis":             {},
		"unless Config.URL names the server":                               {Redis: none},
		"Config.URL is invalid: it does not begin with redis://":           {URL: "h:6379"},
		"Config.Timeout is": {URL: "redis://h", Timeout: -1},
	} {
		if _, err := rmq.New(cfg); !errors.Is(err, rmq.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
