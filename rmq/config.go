package rmq

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/servers/redisurl"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/slots"
)

// Config of a client. Only Redis or URL is required, and not both.
type Config struct {
	// Redis to use: one server, Sentinel or Cluster. You close it; Close does not.
	Redis redis.UniversalClient

	// URL of the Redis to use, instead of Redis, such as
	// rediss://user:password@host:6379/3. docs/DEPLOYMENT.md has all forms. Close
	// closes the connections that it makes.
	URL string

	// Logger receives starts and ends at Info, failed deliveries that will be retried
	// at Debug, trouble that passes by itself at Warn, and what a person must look at,
	// such as a dead message, at Error. It may block: no worker waits for it.
	// Defaults to Slog; zap.NewNop() is silence.
	Logger *zap.Logger

	// Slog is the same for slog; set one of the two. Defaults to slog.Default(), which
	// gets what is at Warn and Error.
	Slog *slog.Logger

	// HideContents keeps the contents of messages out of the log, also where the text of
	// an error repeats a whole one. By default each line about a message has the first
	// 1,000 bytes of its content. Defaults to false.
	HideContents bool

	// Namespace stands in front of every topic's name. Defaults to none: the
	// documented keys.
	Namespace string

	// Slots says how workers share the slots of a topic: by ZooKeeper,
	// slots.ZooKeeper(slots.ZooKeeperConfig{…}), or by a list of members in Redis. All
	// workers of a topic must use the same way. Defaults to Redis.
	Slots slots.Sharing

	// Worker is the name that people see. The worker's id begins with it, and is used
	// once. Defaults to the host's name and the process id.
	Worker string

	// Concurrency is how many handlers run at once in this client. Each topic has at
	// least one place of its own; if there are more topics than places, they take
	// turns. Defaults to 64.
	Concurrency int

	// Timeout of a handler, after which its context is cancelled. One that ignores its
	// context keeps its slot for twice as long. Then another handler gets its message; with
	// ZooKeeper, when the worker's other handlers have returned. Defaults to 30 s.
	Timeout time.Duration

	// Lease is how long the messages of a worker that died stay with it. Give all
	// workers of a topic the same. With ZooKeeper, the session's timeout counts
	// instead. Defaults to 15 s.
	Lease time.Duration

	// Backoff between deliveries of a message that fails: Exponential, Schedule, or a function of
	// your own that is given the number of the retry, 1 to 16. Defaults to
	// Exponential(1s, 30m): about 3 hours over 16 retries, 2 h 27 min to 3 h 41 min.
	Backoff consumer.Backoff

	// MaxAttempts is after how many deliveries a message that fails is dead: 1 to 17. One
	// whose worker died gets all 17. Defaults to 17.
	MaxAttempts int

	// SafetyLook is how often a worker looks at idle slots, in case a wake-up got
	// lost. Make it 1 s if other programs send by plain ZADD. Defaults to 30 s.
	SafetyLook time.Duration

	// Middleware wraps every listener of single messages, the first outermost. Defaults to
	// none.
	Middleware []Middleware

	// BatchMiddleware wraps every batch listener, the first outermost; Middleware does not.
	// Defaults to none.
	BatchMiddleware []BatchMiddleware

	// SendMiddleware wraps Send and SendBatch, the first outermost. Defaults to none.
	SendMiddleware []producer.Middleware

	// Observers see what happens to the messages that this client sends and handles, for
	// metrics for example. They must not block: a slow one slows the queue. A panic in one
	// is logged. One that has a method Watch(*Client) is given the client when it is made.
	// Defaults to none, which costs nothing.
	Observers []Observer

	// Journal is that of package journal. It is told what this client sends and what becomes of
	// what it handles, and keeps it in SQL. It costs a read of the slot's number with each write. Defaults to
	// none, which costs nothing.
	Journal record.Journal

	// MaxContent is the largest content in bytes, at most 64 MiB. Defaults to
	// 256 KiB.
	MaxContent int

	// MaxWaiting is how many messages may wait in one slot. A Send of one more gets
	// ErrQueueFull. Defaults to 0: as many as Redis has memory for.
	MaxWaiting int

	// ExactReceipts makes each receipt say whether its message was stored or merged.
	// It costs a command for each message. Defaults to false.
	ExactReceipts bool

	// RefusePast makes Send return ErrPast for a FixedTime whose At has passed. By
	// default such a message is due now, and the receipt says so, unless the listener's
	// MaxLate makes it too late. Defaults to false.
	RefusePast bool

	// KnownTopics makes Send, SendBatch and Every refuse a topic that no program has defined yet,
	// with ErrUnknownTopic, which names those most like it. Otherwise they make the topic, also a
	// misspelt one. A worker makes those that it listens to, forwards to, or takes as a DeadTopic.
	// Defaults to false.
	KnownTopics bool

	// Durability is the number of replicas a Send waits for. Defaults to none.
	Durability Durability
}

// client is the Redis client to use; own reports whether it was made here.
func (c Config) client() (rdb redis.UniversalClient, own bool, err error) {
	missing := checked.NoClient(c.Redis)
	switch {
	case !missing && c.URL != "":
		return nil, false, &InvalidError{Field: "Config.URL", Value: "given beside Config.Redis", Limit: "the only one of the two, or empty"}
	case !missing:
		return c.Redis, false, checked.Client("Config.Redis", c.Redis)
	case c.URL == "":
		return nil, false, &InvalidError{
			Field: "Config.Redis", Value: "nil",
			Limit: "a client of go-redis, such as redis.NewClient returns, unless Config.URL names the server",
		}
	}
	if rdb, err = redisurl.Open(c.URL); err != nil {
		return nil, false, fmt.Errorf("Config.URL is %w: %w", ErrInvalid, err)
	}
	return rdb, true, nil
}

func (c Config) producer() producer.Config {
	return producer.Config{
		Namespace: c.Namespace, MaxContent: c.MaxContent, MaxWaiting: c.MaxWaiting,
		ExactReceipts: c.ExactReceipts, RefusePast: c.RefusePast, Durability: c.Durability, SendMiddleware: c.SendMiddleware,
		Observers: c.Observers, Journal: c.Journal, Logger: c.Logger,
	}
}

func (c Config) consumer() consumer.Config {
	return consumer.Config{
		Namespace: c.Namespace, Slots: c.Slots, Worker: c.Worker, Concurrency: c.Concurrency, Timeout: c.Timeout,
		Lease: c.Lease, Backoff: c.Backoff, MaxAttempts: c.MaxAttempts,
		SafetyLook: c.SafetyLook, Middleware: c.Middleware, BatchMiddleware: c.BatchMiddleware,
		Observers: c.Observers, Journal: c.Journal, Logger: c.Logger, HideContents: c.HideContents,
	}
}
