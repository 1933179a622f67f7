package rmq_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/slots"
)

// A message that fails comes after a second, then after a minute, and then every hour.
func ExampleConfig_backoff() {
	client := open(rmq.Config{Backoff: rmq.Schedule(time.Second, time.Minute, time.Hour)})
	defer client.close()

	mails := rmq.Topic{Name: "mails", Kind: rmq.KindPriority}
	start := client.Now()
	client.listen(mails, func(_ context.Context, d *rmq.Delivery) error {
		fmt.Println("delivery", d.Attempt, "after", client.Now().Sub(start))
		if d.Attempt < 4 {
			return errors.New("the mail server is away")
		}
		return nil
	}, rmq.ListenOptions{})
	client.send(mails, rmq.Priority{Content: "invoice 7", Priority: 100})
	client.Advance(2 * time.Hour)
	// Output:
	// delivery 1 after 0s
	// delivery 2 after 1s
	// delivery 3 after 1m1s
	// delivery 4 after 1h1m1s
}

// Several systems share one Redis: each has a namespace of its own.
func ExampleConfig_namespace() {
	client := open(rmq.Config{Namespace: "shop"})
	defer client.close()

	client.send(rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}, rmq.Priority{Content: "x", Priority: 100})
	fmt.Println(client.Redis().SMembers(context.Background(), "rmq:topics").Val())
	// Output: [shop:jobs]
}

// The name of the worker is part of its id, which the logs and rmq workers show.
func ExampleConfig_worker() {
	client := open(rmq.Config{Worker: "mailer-3"})
	defer client.close()

	fmt.Println(strings.HasPrefix(client.Worker(), "mailer-3-"))
	// Output: true
}

// Workers share the slots by ZooKeeper, which finds out sooner that one of them died.
// New connects to nothing; Start does.
func ExampleConfig_slots() {
	client, err := rmq.New(rmq.Config{
		URL: "redis://localhost:6379",
		Slots: slots.ZooKeeper(slots.ZooKeeperConfig{
			Servers:        []string{"zoo1:2181", "zoo2:2181", "zoo3:2181"},
			SessionTimeout: 10 * time.Second,
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(context.Background())
	fmt.Println("ready to start")
	// Output: ready to start
}

// Your own client of go-redis: of one server, of Sentinels or of a Cluster. It stays open
// when you close the client.
func ExampleConfig_redis() {
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"redis1:6379", "redis2:6379"}})
	defer rdb.Close()
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(context.Background())
	fmt.Println("ready to send")
	// Output: ready to send
}

// Middleware sees each delivery and its error.
func ExampleConfig_middleware() {
	logged := func(next rmq.MessageListener) rmq.MessageListener {
		return rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
			err := next.OnMessage(ctx, d)
			fmt.Println(d.Topic.Name, d.Content, err)
			return err
		})
	}
	client := open(rmq.Config{Middleware: []rmq.Middleware{logged}})
	defer client.close()

	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}
	client.listen(jobs, func(context.Context, *rmq.Delivery) error { return nil }, rmq.ListenOptions{})
	client.send(jobs, rmq.Priority{Content: "invoice 7", Priority: 100})
	client.Advance(0)
	// Output: jobs invoice 7 <nil>
}

// An observer sees what has become of messages, after Redis has applied it.
func ExampleConfig_observers() {
	alarm := message.ObserverFunc(func(e *message.Event) {
		for _, x := range e.Items {
			if x.What == message.Died {
				fmt.Printf("%s: %s is dead after %d deliveries: %s\n", e.Topic.Name, x.Content, x.Attempt, x.Reason)
			}
		}
	})
	client := open(rmq.Config{Observers: []rmq.Observer{alarm}})
	defer client.close()

	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}
	client.listen(jobs, func(context.Context, *rmq.Delivery) error { return rmq.Dead(errors.New("no such customer")) }, rmq.ListenOptions{})
	client.send(jobs, rmq.Priority{Content: "invoice 7", Priority: 100})
	client.Advance(0)
	// Output: jobs: invoice 7 is dead after 1 deliveries: no such customer
}

// ofTenant gives each tenant topics of its own.
type ofTenant struct{ producer.Sender }

type tenantKey struct{}

func (s ofTenant) Send(ctx context.Context, t rmq.Topic, m rmq.Message) (rmq.Receipt, error) {
	if err := name(ctx, &t); err != nil {
		return rmq.Receipt{}, err
	}
	return s.Sender.Send(ctx, t, m)
}

func (s ofTenant) SendBatch(ctx context.Context, t rmq.Topic, ms []rmq.Message) ([]rmq.Receipt, error) {
	if err := name(ctx, &t); err != nil {
		return nil, err
	}
	return s.Sender.SendBatch(ctx, t, ms)
}

func name(ctx context.Context, t *rmq.Topic) error {
	tenant, ok := ctx.Value(tenantKey{}).(string)
	if !ok {
		return errors.New("no tenant")
	}
	t.Name = tenant + ":" + t.Name
	return nil
}

// SendMiddleware sees each message before it is sent, may refuse it, or send it elsewhere.
func ExampleConfig_sendMiddleware() {
	client := open(rmq.Config{SendMiddleware: []producer.Middleware{func(next producer.Sender) producer.Sender { return ofTenant{next} }}})
	defer client.close()

	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}
	client.listen(rmq.Topic{Name: "acme:jobs", Kind: rmq.KindPriority}, func(_ context.Context, d *rmq.Delivery) error {
		fmt.Println(d.Topic.Name, d.Content)
		return nil
	}, rmq.ListenOptions{})
	_, err := client.Send(context.Background(), jobs, rmq.Priority{Content: "invoice 7", Priority: 100})
	fmt.Println(err)
	acme := context.WithValue(context.Background(), tenantKey{}, "acme")
	if _, err := client.Send(acme, jobs, rmq.Priority{Content: "invoice 7", Priority: 100}); err != nil {
		fmt.Println(err)
	}
	client.Advance(0)
	// Output:
	// no tenant
	// acme:jobs invoice 7
}

// A slot that is full refuses new messages, so that a sender notices. What merges into a
// message that waits is stored.
func ExampleConfig_maxWaiting() {
	client := open(rmq.Config{MaxWaiting: 2})
	defer client.close()

	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority, Slots: 1}
	for _, content := range []string{"a", "b", "c", "a"} {
		_, err := client.Send(context.Background(), jobs, rmq.Priority{Content: content, Priority: 100})
		fmt.Println(content, errors.Is(err, rmq.ErrQueueFull))
	}
	// Output:
	// a false
	// b false
	// c true
	// a false
}

// Contents are ids most of the time. Raise the limit if yours are larger than 256 KiB.
func ExampleConfig_maxContent() {
	client := open(rmq.Config{MaxContent: 100})
	defer client.close()

	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}
	_, err := client.Send(context.Background(), jobs, rmq.Priority{Content: strings.Repeat("x", 101), Priority: 100})
	fmt.Println(err)
	// Output: send to topic jobs: Content is 101 bytes long; it must be 1 to 100 bytes
}

// Each receipt says whether its message was stored or merged, also in a batch.
func ExampleConfig_exactReceipts() {
	client := open(rmq.Config{ExactReceipts: true})
	defer client.close()

	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority, Slots: 1}
	receipts, err := client.SendBatch(context.Background(), jobs, []rmq.Message{
		rmq.Priority{Content: "a", Priority: 100},
		rmq.Priority{Content: "b", Priority: 100},
		rmq.Priority{Content: "a", Priority: 200},
	})
	check(err)
	for _, r := range receipts {
		fmt.Println(r.Outcome)
	}
	// Output:
	// stored
	// stored
	// merged
}

// By default a time that has passed is due now. You can refuse it instead.
func ExampleConfig_refusePast() {
	client := open(rmq.Config{RefusePast: true})
	defer client.close()

	orders := rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime}
	_, err := client.Send(context.Background(), orders, rmq.FixedTime{Content: "4711", At: client.Now().Add(-time.Hour)})
	fmt.Println(errors.Is(err, rmq.ErrPast))
	// Output: true
}

// Lines go to slog. Without the contents of messages, if those are nobody's business.
func ExampleConfig_slog() {
	lines := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "member" {
			return slog.Attr{} // other ones in each run
		}
		return a
	}})
	client := open(rmq.Config{Slog: slog.New(lines), HideContents: true})
	defer client.close()

	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}
	client.listen(jobs, func(_ context.Context, d *rmq.Delivery) error {
		return rmq.Dead(fmt.Errorf("no customer %s", d.Content))
	}, rmq.ListenOptions{})
	client.send(jobs, rmq.Priority{Content: "Ada Lovelace", Priority: 100})
	client.Advance(0)
	// Output:
	// level=ERROR msg="message is dead" topic=jobs slot=55 attempt=1 error="no customer …" key=dead{jobs_55}
}

// What a person must look at is logged at Error, such as a dead message.
func ExampleConfig_logger() {
	alarm := zap.Hooks(func(line zapcore.Entry) error {
		if line.Level == zap.ErrorLevel {
			fmt.Println("alarm:", line.Message)
		}
		return nil
	})
	logger := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zap.InfoLevel), alarm)
	client := open(rmq.Config{Logger: logger})
	defer client.close()

	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}
	client.listen(jobs, func(context.Context, *rmq.Delivery) error {
		return rmq.Dead(errors.New("no such customer"))
	}, rmq.ListenOptions{})
	client.send(jobs, rmq.Priority{Content: "invoice 7", Priority: 100})
	client.Advance(0)
	// Output: alarm: message is dead
}
