package rmq_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

const hours = 5 * time.Hour

// soon fails the test unless do returns while Redis is still mute: the time-outs of the
// clients here are hours. (A quiet machine needs some microseconds.)
func soon(t *testing.T, what string, do func() error) error {
	t.Helper()
	answer := make(chan error, 1)
	go func() { answer <- do() }()
	return await.Signal(t, what+" heeds its context", answer)
}

// changes are the calls about what was sent before, or is sent again and again.
func changes(client *rmq.Client) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"Cancel": func(ctx context.Context) error { _, _, err := client.Cancel(ctx, ranked, "x", ""); return err },
		"Reschedule": func(ctx context.Context) error {
			_, err := client.Reschedule(ctx, ranked, "x", "", rmq.Move{})
			return err
		},
		"Explain": func(ctx context.Context) error { _, err := client.Explain(ctx, ranked, "x", ""); return err },
		"Every": func(ctx context.Context) error {
			return client.Every(ctx, ranked, rmq.Recurring{Name: "p", Content: "x", Priority: 17, Period: time.Hour})
		},
		"StopEvery": func(ctx context.Context) error { return client.StopEvery(ctx, ranked, "p") },
		"Plans":     func(ctx context.Context) error { _, err := client.Plans(ctx, ranked); return err },
	}
}

// A Redis that takes connections and never answers, and one that cannot even be
// connected to, hold up nobody for longer than his context lasts.
func TestContextsAreHeeded(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(testing.TB) string{"mute": servertest.Mute, "swallowing": servertest.Swallowing} {
		for kind, connect := range map[string]func(addr string) redis.UniversalClient{
			"redis": func(addr string) redis.UniversalClient {
				return redis.NewClient(&redis.Options{Addr: addr, DialTimeout: hours, ReadTimeout: hours, WriteTimeout: hours})
			},
			"cluster": func(addr string) redis.UniversalClient {
				return redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}, DialTimeout: hours, ReadTimeout: hours, WriteTimeout: hours})
			},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				var rdb redis.UniversalClient
				t.Cleanup(func() { rdb.Close() }) // after the address, which ends what was begun there
				rdb = connect(address(t))
				client, err := rmq.New(rmq.Config{Redis: rdb})
				if err != nil {
					t.Fatal(err)
				}
				if err := client.Listen(ranked, rmq.ListenerFunc(idle), rmq.ListenOptions{}); err != nil {
					t.Fatal(err)
				}
				short, cancel := context.WithTimeout(background, 50*time.Millisecond)
				defer cancel()
				one := rmq.Priority{Content: "x", Priority: 17}
				err = soon(t, "the first Send", func() error { _, err := client.Send(short, ranked, one); return err })
				if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, rmq.ErrUncertain) {
					t.Errorf("the first Send: %v", err)
				}
				cancelled, stop := context.WithCancel(background)
				batch := make(chan error, 1)
				go func() { _, err := client.SendBatch(cancelled, ranked, []rmq.Message{one}); batch <- err }()
				stop()
				if err := soon(t, "a Send that waits for the first", func() error { return <-batch }); !errors.Is(err, context.Canceled) {
					t.Errorf("a Send that waits for the first: %v", err)
				}
				short, cancel = context.WithTimeout(background, 50*time.Millisecond)
				defer cancel()
				if err := soon(t, "Start", func() error { return client.Start(short) }); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Start: %v", err)
				}

				for what, call := range changes(client) {
					short, cancel := context.WithTimeout(background, 10*time.Millisecond)
					defer cancel()
					if err := soon(t, what, func() error { return call(short) }); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%s: %v", what, err)
					}
				}

				// Close while another Start is under way, which its own context ends.
				starting, stop := context.WithCancel(background)
				started := make(chan error, 1)
				go func() { started <- client.Start(starting) }()
				_ = soon(t, "Close during Start", func() error { return client.Close(short) })
				stop()
				if err := soon(t, "Start after Close", func() error { return <-started }); err == nil {
					t.Error("Start has succeeded")
				}
			})
		}
	}
}

// Sends and starts that were given up do no harm to those that come when Redis is back.
func TestBackAfterContextsHaveEnded(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	client, err := rmq.New(rmq.Config{Redis: proxy.Client(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(background)
	got := make(chan string, 10)
	if err := client.Listen(ranked, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error { got <- d.Content; return nil }), rmq.ListenOptions{}); err != nil {
		t.Fatal(err)
	}
	one := rmq.Priority{Content: "x", Priority: 17}
	proxy.Freeze()
	short, cancel := context.WithTimeout(background, 50*time.Millisecond)
	defer cancel()
	if _, err := client.Send(short, ranked, one); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Send: %v", err)
	}
	if err := client.Start(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Start: %v", err)
	}
	proxy.Thaw()
	if r, err := client.Send(background, ranked, one); err != nil || r.Outcome != rmq.Stored {
		t.Errorf("Send when Redis is back: %v, %v", r, err)
	}
	if err := client.Start(background); err != nil {
		t.Errorf("Start when Redis is back: %v", err)
	}
	if content := await.Signal(t, "it is handled", got); content != "x" {
		t.Errorf("handled %s", content)
	}
}

// A user may have closed the Redis client first.
func TestCloseAfterTheRedisClient(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		t.Fatal(err)
	}
	one := rmq.Priority{Content: "x", Priority: 17}
	if _, err := client.Send(background, ranked, one); err != nil {
		t.Fatal(err)
	}
	_ = rdb.Close()
	if _, err := client.Send(background, ranked, one); err == nil {
		t.Error("a message was sent through a closed client")
	}
	_ = soon(t, "Close", func() error { return client.Close(background) })
}
