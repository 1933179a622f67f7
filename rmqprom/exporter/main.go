// Exporter shows Prometheus what is stored in Redis: how much waits, what is overdue, who
// works. One of it is enough for all workers.
//
//	go run ./exporter -redis redis://localhost:6379 -listen :9465
//	curl localhost:9465/metrics
//
// RMQ_REDIS, RMQ_NAMESPACE and RMQ_ZK say the same as the flags, as for the command rmq; a
// password is safer there. It changes nothing in Redis.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/redisurl"
	"github.com/slotmq/go-rmq/rmqprom"
	"github.com/slotmq/go-rmq/slots"
)

// options are what the flags say.
type options struct {
	redis, namespace, zooKeeper, topics, listen string
	every                                       time.Duration
}

func main() {
	redis.SetLogger(silence{}) // its errors are counted, and rmq doctor says more
	var o options
	flag.StringVar(&o.redis, "redis", cmp.Or(os.Getenv("RMQ_REDIS"), "redis://localhost:6379"), "the URL of Redis")
	flag.StringVar(&o.namespace, "namespace", os.Getenv("RMQ_NAMESPACE"), "of the topics")
	flag.StringVar(&o.zooKeeper, "zk", os.Getenv("RMQ_ZK"), "the servers of ZooKeeper, separated by commas, to count workers that share by it")
	flag.StringVar(&o.topics, "topics", "", "names and patterns such as mail-*, separated by commas (default all)")
	flag.StringVar(&o.listen, "listen", ":9465", "where to serve /metrics")
	flag.DurationVar(&o.every, "every", 5*time.Second, "how often Redis is asked at the most")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "exporter:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, o options, out io.Writer) error {
	rdb, err := redisurl.Open(o.redis)
	if err != nil {
		return fmt.Errorf("the URL of Redis (-redis or RMQ_REDIS): %w", err)
	}
	defer rdb.Close()
	registry := prometheus.NewRegistry()
	cfg := rmqprom.StateConfig{Redis: rdb, Namespace: o.namespace, Registerer: registry, Every: o.every}
	if o.topics != "" {
		cfg.Topics = strings.Split(o.topics, ",")
	}
	if o.zooKeeper != "" {
		cfg.Slots = slots.ZooKeeper(slots.ZooKeeperConfig{Servers: strings.Split(o.zooKeeper, ",")})
	}
	if _, err := rmqprom.NewState(cfg); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "serving http://%s/metrics\n", listener.Addr())
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	end := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer end()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
