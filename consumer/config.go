package consumer

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/observers"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// Backoff returns how long a message waits for its retry 1, 2, … 16: see rmq.Exponential and rmq.Schedule.
type Backoff func(retry int) time.Duration

// Config of a consumer. The zero value is ready to use.
type Config struct {
	// Namespace stands in front of every topic's name. Defaults to none: the
	// documented keys.
	Namespace string

	// Worker is the name people see. An id that is never used again is built on
	// it. Defaults to the host's name and the process id.
	Worker string

	// Slots says how the workers of a topic share its slots out, which all of them
	// must do in the same way: by ZooKeeper, slots.ZooKeeper(slots.ZooKeeperConfig{…}),
	// or by a list of members in Redis. Defaults to Redis.
	Slots slots.Sharing

	// Concurrency is how many handlers run at once. Half of each topic's fair
	// share, and at least one, is always kept free for it. With more topics than
	// this they take turns instead: each is served within topics/Concurrency times
	// the longest handler and 0.1 s. Defaults to 64.
	Concurrency int

	// Timeout of a handler, after which its context is cancelled. One that ignores its
	// context keeps its slot for twice as long: then the lease is renewed no more, and when it
	// has ended the message is given to another handler, and the slot goes on. With ZooKeeper
	// the worker takes another session at once; the old one ends when its other handlers have
	// returned, and then the message is given to another. Defaults to 30 s.
	Timeout time.Duration

	// Lease is how long the messages of a worker that vanished stay with it. Let
	// all workers of a topic have the same: one with a shorter lease takes the
	// others for dead now and then, which costs time. Start makes it longer, and logs so,
	// where it is too short for the round trip to Redis: about seven of these are needed. With
	// ZooKeeper the session takes its place. Defaults to 15 s.
	Lease time.Duration

	// Backoff between deliveries of a message that fails. Defaults to
	// rmq.Exponential(1s, 30m): about 3 hours over 16 retries, 2 h 27 min to 3 h 41 min.
	Backoff Backoff

	// MaxAttempts is after how many deliveries a message that fails is dead, from 1 to
	// 17. A message whose worker died gets all 17, since it may not be its fault. Defaults
	// to 17.
	MaxAttempts int

	// SafetyLook is how often idle slots are looked at in case a wake-up got
	// lost. Make it 1 s for topics that others fill by plain ZADD. Defaults to
	// 30 s.
	SafetyLook time.Duration

	// Middleware wraps every listener of single messages, the first outermost. Defaults to
	// none.
	Middleware []Middleware

	// BatchMiddleware wraps every batch listener, the first outermost; Middleware does not.
	// Defaults to none.
	BatchMiddleware []BatchMiddleware

	// Observers see what happens to messages: see [message.Event]. They are called in the
	// middle of the work, so they must not block. Defaults to none, which costs nothing.
	Observers []message.Observer

	// Journal keeps what becomes of messages, and what plans send: it is that of package
	// journal. Defaults to none.
	Journal record.Journal

	// Logger receives starts and ends at Info, failed deliveries that will be retried
	// at Debug, trouble that passes by itself at Warn, and what a person must look at,
	// such as a dead message, at Error. It may block: lines then wait, and beyond a
	// thousand are dropped and counted. Defaults to Slog; zap.NewNop() is silence.
	Logger *zap.Logger

	// Slog is the same for slog; set one of the two. Defaults to slog.Default(), which
	// gets what is at Warn and Error.
	Slog *slog.Logger

	// HideContents keeps the contents of messages out of the log, also where the text of
	// an error repeats a whole one. By default each line about a message has the first
	// 1,000 bytes of its content. Defaults to false.
	HideContents bool

	hung time.Duration // as in ListenOptions; tests set it
}

// ListenOptions of one topic. Fields that [Config] has, too, mean the same here.
type ListenOptions struct {
	Timeout    time.Duration // Defaults to the consumer's. The longer of the two bounds a handler that ignores its context.
	Backoff    Backoff       // Defaults to the consumer's.
	SafetyLook time.Duration // Defaults to the consumer's.

	MaxAttempts int // Defaults to the consumer's.

	// Concurrency is how many handlers of this topic run at once at the most.
	// Defaults to the consumer's.
	Concurrency int

	// Rate is how many messages of this topic all its workers begin in a second. Defaults to
	// any number.
	Rate Rate

	// NoBreaker has every message tried when it is due, also while all of them fail. By
	// default an outage of what the handlers need spends few attempts: when 72 different
	// messages have failed, or 40 in more than 5 s, and none succeeded between, the worker only probes, one message
	// after 0.1 s and then after longer pauses, up to 30 s, until one succeeds. Defaults to
	// false.
	NoBreaker bool

	// Flow bounds how many handlers of this topic the worker lets run at once. It finds that
	// out by itself, and takes fewer where more would handle no more: see [Flow]. Defaults to
	// from 1 to Concurrency; with a Min of Concurrency there is nothing to find out.
	Flow Flow

	// Parallel gives up the serial order of this topic: messages of one batch
	// are handled at the same time. A batch has at most 1 MiB of contents, and each slot has one:
	// of contents of 255 KiB, four of a slot are handled, and the next four when these are done.
	// Defaults to false.
	Parallel bool

	// Due fills Delivery.Due in, which costs Redis about a quarter more for each
	// message. It has no effect on topics of the Priority kind. Defaults to false.
	Due bool

	// MaxLate is how late a message may be when its handler would be called, by the clock
	// of Redis; one that is later is not handled. It goes by Delivery.Due, and sets it. A
	// retry has no Due, and neither has a message that Redis had to give the worker a second
	// time: these are never too late. A message that was put back by rmq.Later is due when that
	// time is over.
	//
	// Senders learn it within half a minute, and refuse a FixedTime whose At is further past than
	// that, with producer.ErrPast: it would not be handled. Where workers have several, the
	// longest counts, and none is longer than any.
	//
	// It must be longer than BatchOptions.Gather, by which messages of a slot that gathers
	// are late already; leave room for the call before, too. It is refused for topics of the
	// Priority kind. Defaults to 0: none is too late.
	MaxLate time.Duration

	// Expired says what becomes of a message that is later than MaxLate, or whose time to
	// live is over when its handler would be called: then it is never handled, at a first
	// delivery or a retry. Defaults to ExpiredDead.
	Expired Expired

	// DeadTopic is where rmq.Client sends each message that died, with the same content:
	// at least once, and due now, or with the priority it had. It stays among the dead,
	// too. A consumer by itself refuses it, since it does not send. Defaults to none.
	DeadTopic message.Topic

	hung time.Duration // how long a handler that ignores its context keeps its slot: twice the longer Timeout, but in tests
}

const usualConcurrency = 64

func (c Config) withDefaults() Config {
	if c.Worker == "" {
		c.Worker = checked.WorkerName("worker")
	}
	if c.Concurrency == 0 {
		c.Concurrency = usualConcurrency
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Lease == 0 {
		c.Lease = 15 * time.Second
	}
	if c.Backoff == nil {
		c.Backoff = verdict.Exponential(time.Second, 30*time.Minute)
	}
	if c.MaxAttempts == 0 {
		c.MaxAttempts = limits.Deliveries
	}
	if c.SafetyLook == 0 {
		c.SafetyLook = 30 * time.Second
	}
	return c
}

// minLease leaves room for the margin and some round trips.
const minLease = time.Second

func (c Config) validate() error {
	if err := checked.Namespace(c.Namespace); err != nil {
		return err
	}
	if err := logs.Check(c.Logger, c.Slog); err != nil {
		return err
	}
	if err := checked.Worker("Config.Worker", c.Worker); err != nil {
		return err
	}
	for i, m := range c.Middleware {
		if m == nil {
			return refuse("Config.Middleware", fmt.Sprintf("nil at index %d", i), "functions")
		}
	}
	if err := observers.Valid(c.Observers); err != nil {
		return err
	}
	for i, m := range c.BatchMiddleware {
		if m == nil {
			return refuse("Config.BatchMiddleware", fmt.Sprintf("nil at index %d", i), "functions")
		}
	}
	switch {
	case c.Concurrency < 1:
		return refuse("Config.Concurrency", c.Concurrency, "1 or more, or 0 for 64")
	case c.Timeout < time.Millisecond:
		return refuse("Config.Timeout", c.Timeout, "1ms or more, or 0 for 30s")
	case c.Lease < minLease:
		return refuse("Config.Lease", c.Lease, "1s or more, or 0 for 15s")
	case c.MaxAttempts < 1 || c.MaxAttempts > limits.Deliveries:
		return refuse("Config.MaxAttempts", c.MaxAttempts, "1 to 17, or 0 for 17")
	case c.SafetyLook < 10*time.Millisecond:
		return refuse("Config.SafetyLook", c.SafetyLook, "10ms or more, or 0 for 30s")
	}
	return nil
}

// withDefaults takes the consumer's values where the options are zero.
func (o ListenOptions) withDefaults(c Config) ListenOptions {
	if o.Timeout == 0 {
		o.Timeout = c.Timeout
	}
	if o.hung = cmp.Or(o.hung, c.hung); o.hung == 0 {
		o.hung = 2 * max(o.Timeout, c.Timeout)
	}
	if o.Backoff == nil {
		o.Backoff = c.Backoff
	}
	if o.MaxAttempts == 0 {
		o.MaxAttempts = c.MaxAttempts
	}
	if o.SafetyLook == 0 {
		o.SafetyLook = c.SafetyLook
	}
	if o.Concurrency == 0 {
		o.Concurrency = c.Concurrency
	}
	o.Flow = o.Flow.withDefaults(o.Concurrency)
	o.Due = o.Due || o.MaxLate > 0
	return o
}

func (o ListenOptions) validate(t message.Topic) error {
	switch {
	case o.Concurrency < 1:
		return refuse("ListenOptions.Concurrency", o.Concurrency, "1 or more, or 0 for the consumer's")
	case o.Timeout < time.Millisecond:
		return refuse("ListenOptions.Timeout", o.Timeout, "1ms or more, or 0 for the consumer's")
	case o.MaxAttempts < 1 || o.MaxAttempts > limits.Deliveries:
		return refuse("ListenOptions.MaxAttempts", o.MaxAttempts, "1 to 17, or 0 for the consumer's")
	case o.SafetyLook < 10*time.Millisecond:
		return refuse("ListenOptions.SafetyLook", o.SafetyLook, "10ms or more, or 0 for the consumer's")
	case o.MaxLate != 0 && o.MaxLate < time.Millisecond:
		return refuse("ListenOptions.MaxLate", o.MaxLate, "1ms or more, or 0 for none")
	case o.MaxLate != 0 && !t.Kind.Timed():
		return refuse("ListenOptions.MaxLate", o.MaxLate, "0: messages of a Priority topic are not due at a time")
	case o.Expired > ExpiredDrop:
		return refuse("ListenOptions.Expired", o.Expired, "ExpiredDead or ExpiredDrop")
	case o.Expired != 0 && o.MaxLate == 0 && !t.Notes:
		return refuse("ListenOptions.Expired", o.Expired, "used with MaxLate, or in a topic with Notes")
	case o.Flow.Min < 1 || o.Flow.Min > o.Concurrency:
		return refuse("ListenOptions.Flow.Min", o.Flow.Min, fmt.Sprintf("1 to the Concurrency, %d, or 0 for 1", o.Concurrency))
	case o.Flow.Max < o.Flow.Min || o.Flow.Max > o.Concurrency:
		return refuse("ListenOptions.Flow.Max", o.Flow.Max, fmt.Sprintf("from Min, %d, to the Concurrency, %d, or 0 for that", o.Flow.Min, o.Concurrency))
	case o.DeadTopic != (message.Topic{}):
		return refuse("ListenOptions.DeadTopic", o.DeadTopic.Name, "left to rmq.Client, because a consumer does not send")
	}
	return o.Rate.validate()
}

func refuse(field string, value any, limit string) error {
	return &message.InvalidError{Field: field, Value: fmt.Sprint(value), Limit: limit}
}
