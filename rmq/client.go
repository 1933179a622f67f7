package rmq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/declaration"
	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/producer"
)

// Client sends messages and, once started, delivers them to its listeners. Any number of
// goroutines may use it.
type Client struct {
	rdb      redis.UniversalClient
	producer *producer.Producer
	consumer *consumer.Consumer
	closeRdb func() error // if it was made from a URL; else does nothing

	log        *zap.Logger
	namespace  string
	maxContent int
	inspector  func() (*inspector.Inspector, error) // makes it at first
	known      *known                               // nil: it sends to any topic
	declared   declarations
	closed     atomic.Bool
}

// New returns a client. It validates the Config and does no I/O; the first
// Send or Start does.
func New(cfg Config) (*Client, error) {
	if err := logs.Check(cfg.Logger, cfg.Slog); err != nil {
		return nil, fmt.Errorf("rmq: %w", err)
	}
	cfg.Logger = away.Share(logs.Choose(cfg.Logger, cfg.Slog)) // the producer's and the consumer's
	rdb, own, err := cfg.client()
	if err != nil {
		return nil, fmt.Errorf("rmq: %w", err)
	}
	c := &Client{rdb: rdb, closeRdb: func() error { return nil }, log: cfg.Logger, namespace: cfg.Namespace, maxContent: cmp.Or(cfg.MaxContent, limits.DefaultContentBytes), declared: declarations{log: cfg.Logger, each: declaration.LookEach}}
	c.inspector = sync.OnceValues(func() (*inspector.Inspector, error) {
		return inspector.New(rdb, inspector.Config{Namespace: cfg.Namespace, Slots: cfg.Slots, Journal: cfg.Journal})
	})
	if cfg.KnownTopics {
		c.known = &known{}
	}
	if own {
		c.closeRdb = sync.OnceValue(rdb.Close)
	}
	if c.producer, err = producer.New(rdb, cfg.producer()); err == nil {
		c.consumer, err = consumer.New(rdb, cfg.consumer())
	}
	if err != nil {
		_ = c.closeRdb()
		return nil, fmt.Errorf("rmq: %w", err)
	}
	for _, o := range cfg.Observers {
		if w, ok := o.(interface{ Watch(*Client) }); ok {
			w.Watch(c)
		}
	}
	return c, nil
}

// Send stores one message and returns when Redis has answered; see
// producer.Producer.Send.
func (c *Client) Send(ctx context.Context, t Topic, m Message) (Receipt, error) {
	if err := mustExist(ctx, c, "send to", t); err != nil {
		return Receipt{}, err
	}
	return c.producer.Send(ctx, t, m)
}

// SendBatch stores messages of one topic and returns their receipts in order.
// One invalid message refuses the batch; see producer.Producer.SendBatch.
func (c *Client) SendBatch(ctx context.Context, t Topic, ms []Message) ([]Receipt, error) {
	if err := mustExist(ctx, c, "send to", t); err != nil {
		return nil, err
	}
	return c.producer.SendBatch(ctx, t, ms)
}

// Listen has l handle the messages of topic t. Call it before Start, once for each
// topic. With ListenOptions{} the topic has the values of the Config.
func (c *Client) Listen(t Topic, l MessageListener, o ListenOptions) error {
	return c.withDeadTopic(t, &o, func() error { return c.consumer.Listen(t, l, o) })
}

// ListenBatch has l handle the messages of topic t together: those of one slot that could
// be taken at once, in one call. It takes the place of Listen for this topic.
func (c *Client) ListenBatch(t Topic, l consumer.BatchListener, o BatchOptions) error {
	return c.withDeadTopic(t, &o.ListenOptions, func() error { return c.consumer.ListenBatch(t, l, o) })
}

// Start checks the Redis server, begins to deliver, and returns when the
// worker is running. ctx bounds the start only; Close ends the work.
func (c *Client) Start(ctx context.Context) error {
	if ctx == nil {
		return errors.New("start: ctx is nil")
	}
	if err := wait.For(ctx, func(ctx context.Context) error { return checkServers(ctx, c.rdb) }); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return c.consumer.Start(ctx)
}

// Worker returns the id of this client as a worker.
func (c *Client) Worker() string { return c.consumer.Worker() }

// Handlers returns how many handlers of a topic may run at once in this client at present: its
// Concurrency, or fewer while something limits it, such as its Flow. While only one message is
// tried now and then, since all fail, that is 1, and 0 while the topic rests after a Pushback. It
// is 0 of a topic that the client does not listen to, too. It does not wait.
func (c *Client) Handlers(t Topic) int { return c.consumer.Handlers(t) }

// AllHandlers returns what Handlers does for each topic that the client listens to, by its name
// with the namespace. It is empty before Start, and nil from Close on. It feeds the gauge
// rmq_handlers_allowed.
func (c *Client) AllHandlers() map[string]int { return c.consumer.AllHandlers() }

// Close shuts down gracefully. It lets running handlers finish until ctx ends, and then
// cancels them. Messages that were not handled go back, without a delivery being spent;
// the slots go to the other workers; and what is being sent is written. You may call it at
// any time and more than once. The Redis client of the Config stays open.
//
// Close returns at most 4 s after ctx has ended, whatever Redis, ZooKeeper, the handlers or
// the log do: then what could not be finished comes again later, and the error says what it
// is. So a deployment that gives ctx the Timeout of the handlers waits for Timeout + 5 s.
func (c *Client) Close(ctx context.Context) error {
	if ctx == nil {
		return errors.New("close: ctx is nil")
	}
	err := c.consumer.Close(ctx) // until here, handlers may use the client
	c.closed.Store(true)
	if ctx.Err() != nil { // handlers have used it up; what they sent takes only a moment
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
	}
	c.declared.close()
	err = errors.Join(err, c.producer.Close(ctx))
	c.declared.wait(ctx)
	return errors.Join(err, c.closeRdb())
}
