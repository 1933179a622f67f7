// Ownclients brings its own Redis clients: one server, Sentinel, Cluster, TLS,
// a user with a password. RMQ takes any redis.UniversalClient and never closes
// it, so pools, time-outs, hooks and credentials stay in your hands.
//
//	go run ./examples/ownclients                                   # a single and a cluster client, on an in-memory Redis
//	go run ./examples/ownclients -redis rediss://user:password@host:6379
//	go run ./examples/ownclients -sentinel host1:26379,host2:26379 -master mymaster
//	go run ./examples/ownclients -cluster host1:6379,host2:6379 -tls
//
// With -sentinel and -cluster, the user and password are taken from REDIS_USER
// and REDIS_PASSWORD.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/rmq"
)

var (
	sentinels = flag.String("sentinel", "", "the Sentinels' `addresses`, separated by commas")
	master    = flag.String("master", "mymaster", "the `name` of the master, for -sentinel")
	nodes     = flag.String("cluster", "", "`addresses` of some nodes of a Cluster, separated by commas")
	secure    = flag.Bool("tls", false, "use TLS, for -sentinel and -cluster")
)

func main() { store.MainWithoutZooKeeper(run) }

func run(ctx context.Context, s *store.Store) error {
	switch {
	case *sentinels != "":
		return try(ctx, s, "a Sentinel client", sentinelClient(strings.Split(*sentinels, ","), *master))
	case *nodes != "":
		return try(ctx, s, "a Cluster client", clusterClient(strings.Split(*nodes, ",")))
	case !s.InMemory:
		return try(ctx, s, "a client of one server, made from the URL", s.Redis)
	}
	addr := s.Redis.(*redis.Client).Options().Addr
	if err := try(ctx, s, "a client of one server", singleClient(addr)); err != nil {
		return err
	}
	return try(ctx, s, "a Cluster client", clusterClient([]string{addr}))
}

func singleClient(addr string) redis.UniversalClient {
	return redis.NewClient(&redis.Options{
		Addr: addr, Username: os.Getenv("REDIS_USER"), Password: os.Getenv("REDIS_PASSWORD"),
		TLSConfig: tlsConfig(),
		PoolSize:  20, // RMQ itself needs few: two for turns, one for sends, one to listen for wake-ups
	})
}

func sentinelClient(addrs []string, master string) redis.UniversalClient {
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: master, SentinelAddrs: addrs,
		Username: os.Getenv("REDIS_USER"), Password: os.Getenv("REDIS_PASSWORD"),
		TLSConfig: tlsConfig(),
	})
}

func clusterClient(addrs []string) redis.UniversalClient {
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: addrs, Username: os.Getenv("REDIS_USER"), Password: os.Getenv("REDIS_PASSWORD"),
		TLSConfig: tlsConfig(),
	})
}

func tlsConfig() *tls.Config {
	if !*secure {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12}
}

// try sends a message over rdb and waits for it.
func try(ctx context.Context, s *store.Store, what string, rdb redis.UniversalClient) (err error) {
	if rdb != s.Redis {
		defer rdb.Close() // yours: RMQ does not do it
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s = s.On(rdb)
	defer s.CleanUp(context.Background())
	client, err := rmq.New(rmq.Config{Redis: rdb, Namespace: s.Namespace})
	if err != nil {
		return err
	}
	defer client.Close(context.Background())
	hello := rmq.Topic{Name: "hello", Kind: rmq.KindPriority}
	handled := make(chan *rmq.Delivery, 1)
	if err := client.Listen(hello, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		copied := *d // a Delivery ends with its handler
		handled <- &copied
		return nil
	}), rmq.ListenOptions{}); err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	begin := time.Now()
	if _, err := client.Send(ctx, hello, rmq.Priority{Content: "hello", Priority: 100}); err != nil {
		return err
	}
	select {
	case d := <-handled:
		fmt.Printf("%s: sent and handled in %.1f ms (slot %d)\n", what, float64(time.Since(begin).Microseconds())/1000, d.Slot)
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
}
