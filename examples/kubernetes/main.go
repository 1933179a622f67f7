// Kubernetes is a worker as it runs in a pod: with probes, and with an end that Kubernetes
// does not cut short. deployment.yaml beside it is its Deployment.
//
//	RMQ_REDIS=redis://localhost:6379 go run ./examples/kubernetes
//	curl -i localhost:8080/readyz
package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqhttp"
	"github.com/slotmq/go-rmq/slots"
)

// timeout of a handler, and how long the end waits for those that run. deployment.yaml has
// terminationGracePeriodSeconds for it.
const timeout = 30 * time.Second

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stdout, nil)))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		slog.Error("the worker ends", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cfg := rmq.Config{URL: os.Getenv("RMQ_REDIS"), Worker: os.Getenv("POD_NAME"), Timeout: timeout}
	if servers := os.Getenv("RMQ_ZK"); servers != "" {
		cfg.Slots = slots.ZooKeeper(slots.ZooKeeperConfig{Servers: strings.Split(servers, ",")})
	}
	client, err := rmq.New(cfg)
	if err != nil {
		return err
	}
	if err := client.Listen(rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}, rmq.ListenerFunc(handle), rmq.ListenOptions{}); err != nil {
		return err
	}

	// The probes answer from the start on: a worker that waits for Redis is live, not ready.
	l, err := net.Listen("tcp", address())
	if err != nil {
		return err
	}
	probes := &http.Server{Handler: rmqhttp.Health(client), ReadHeaderTimeout: time.Second}
	go func() { _ = probes.Serve(l) }()
	defer probes.Close()
	slog.Info("probes", "address", l.Addr().String())

	err = start(ctx, client)
	if err == nil {
		<-ctx.Done()
	}
	closing, cancel := context.WithTimeout(context.Background(), timeout) // and at most 4 s more
	defer cancel()
	return errors.Join(err, client.Close(closing))
}

// start tries until Redis is there, or the pod ends.
func start(ctx context.Context, client *rmq.Client) error {
	for {
		within, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := client.Start(within)
		cancel()
		if err == nil || errors.Is(err, rmq.ErrTopicConflict) {
			return err
		}
		slog.Warn("the worker does not start yet", "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
	}
}

func handle(_ context.Context, d *rmq.Delivery) error {
	slog.Info("handled", "content", d.Content)
	return nil
}

// address is where the probes are.
func address() string {
	if a := os.Getenv("PROBES"); a != "" {
		return a
	}
	return ":8080"
}
