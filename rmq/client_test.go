package rmq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/producer"
)

// New validates without a server, and names what is wrong.
func TestNewWithoutRedis(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	_, err := New(Config{})
	if err == nil || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "Config.Redis is nil") {
		t.Errorf("no Redis: %v", err)
	}
	for field, cfg := range map[string]Config{
		"Namespace":                  {Namespace: "{}"},
		"Config.Worker":              {Worker: strings.Repeat("x", 101)},
		"Config.Concurrency":         {Concurrency: -1},
		"Config.Timeout":             {Timeout: time.Microsecond},
		"Config.Lease":               {Lease: time.Millisecond},
		"Config.SafetyLook":          {SafetyLook: -1},
		"Config.MaxAttempts":         {MaxAttempts: 18},
		"Config.Observers":           {Observers: []Observer{nil}},
		"Config.MaxContent":          {MaxContent: -1},
		"Config.Slog":                {Logger: zap.NewNop(), Slog: slog.Default()},
		"Config.SendMiddleware":      {SendMiddleware: []producer.Middleware{nil}},
		"Config.Durability.Replicas": {Durability: Durability{Replicas: -1}},
		"Config.Durability.Timeout":  {Durability: Durability{Timeout: 1}},
	} {
		cfg.Redis = rdb
		_, err := New(cfg)
		var invalid *InvalidError
		if !errors.As(err, &invalid) || !errors.Is(err, ErrInvalid) || !strings.HasSuffix(invalid.Field, field) {
			t.Errorf("got %v, want an InvalidError about %s", err, field)
		}
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	if _, err := New(Config{Redis: ring}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "redis.Ring") {
		t.Errorf("a ring: %v", err)
	}
	c, err := New(Config{Redis: rdb, Worker: "mail"})
	must.Do(t, err)
	if !strings.HasPrefix(c.Worker(), "mail-") {
		t.Errorf("worker %s", c.Worker())
	}
	l := ListenerFunc(func(context.Context, *Delivery) error { return nil })
	topic := Topic{Name: "orders", Kind: KindPriority}
	must.Do(t, c.Listen(topic, l, ListenOptions{Parallel: true}))
	if err := c.Start(nil); err == nil { //nolint:staticcheck // on purpose
		t.Error("a nil context was taken")
	}
	must.Do(t, c.Close(context.Background()))
	must.Do(t, c.Close(context.Background()))
}

// The front door, end to end, in each kind, with a namespace.
func TestSendListenClose(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rdb := servertest.SharedRedis(t).Client(t)
	for _, kind := range []Kind{KindRangeMerge, KindPriority, KindFixedTime} {
		got := make(chan string, 10)
		c, err := New(Config{Redis: rdb, Namespace: "front-" + kind.String(), SafetyLook: time.Hour, Backoff: Schedule(time.Millisecond)})
		must.Do(t, err)
		topic := Topic{Name: "orders", Kind: kind}
		must.Do(t, c.Listen(topic, ListenerFunc(func(_ context.Context, d *Delivery) error {
			if d.Attempt == 1 && d.Content == "again" {
				return errors.New("once")
			}
			if d.Topic.Name != "orders" || d.Topic.Slots != 64 || d.Fence == 0 || (d.Priority == 20) != (kind == KindPriority) || (d.LastError == "once") != (d.Attempt == 2) {
				return Dead(fmt.Errorf("delivered as %+v", d))
			}
			got <- fmt.Sprint(d.Content, d.Attempt)
			return nil
		}), ListenOptions{}))
		must.Do(t, c.Start(ctx))
		message := func(content string) Message {
			switch kind {
			case KindRangeMerge:
				return RangeMerge{Content: content, Range: time.Millisecond}
			case KindPriority:
				return Priority{Content: content, Priority: 20}
			}
			return FixedTime{Content: content, At: time.Now().Add(50 * time.Millisecond)}
		}
		receipt, err := c.Send(ctx, topic, message("x"))
		must.Do(t, err)
		if receipt.Outcome != Stored {
			t.Errorf("%v: %v", kind, receipt)
		}
		receipts, err := c.SendBatch(ctx, topic, []Message{message("again"), message("y")})
		must.Do(t, err)
		if len(receipts) != 2 {
			t.Errorf("%v: %v", kind, receipts)
		}
		seen := map[string]bool{}
		for range 3 {
			seen[await.Signal(t, fmt.Sprintf("a message of kind %v after %v", kind, seen), got)] = true
		}
		if !seen["x1"] || !seen["again2"] || !seen["y1"] {
			t.Errorf("%v: %v", kind, seen)
		}
		must.Do(t, c.Close(ctx))
		if _, err := c.Send(ctx, topic, message("late")); err == nil {
			t.Errorf("%v: a send after Close was taken", kind)
		}
		must.Do(t, rdb.Ping(ctx).Err()) // it stays ours
		if n := rdb.ZCard(ctx, fmt.Sprintf("dead{front-%v:orders_%d}", kind, receipt.Slot)).Val(); n != 0 {
			t.Errorf("%v: %d are dead", kind, n)
		}
	}
}

// The first middleware is outermost, on every topic.
func TestMiddleware(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rdb := servertest.SharedRedis(t).Client(t)
	var mu sync.Mutex
	var order []string
	layer := func(name string) Middleware {
		return func(next MessageListener) MessageListener {
			return ListenerFunc(func(ctx context.Context, d *Delivery) error {
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				return next.OnMessage(ctx, d)
			})
		}
	}
	c, err := New(Config{Redis: rdb, Namespace: "middleware", Middleware: []Middleware{layer("first"), layer("second")}})
	must.Do(t, err)
	handled := make(chan struct{})
	topic := Topic{Name: "orders", Kind: KindPriority, Slots: 1}
	must.Do(t, c.Listen(topic, ListenerFunc(func(context.Context, *Delivery) error {
		mu.Lock()
		order = append(order, "listener")
		mu.Unlock()
		close(handled)
		return nil
	}), ListenOptions{}))
	must.Do(t, c.Start(ctx))
	_, err = c.Send(ctx, topic, Priority{Content: "x", Priority: 17})
	must.Do(t, err)
	await.Signal(t, "the message is handled", handled)
	must.Do(t, c.Close(ctx))
	if got := strings.Join(order, " "); got != "first second listener" {
		t.Errorf("called %s", got)
	}
}
