package producer

import (
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/observers"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/message"
)

// Config of a producer. The zero value is ready to use.
type Config struct {
	// Namespace stands in front of every topic's name. Defaults to none: the
	// documented keys.
	Namespace string

	// MaxContent is the largest content in bytes, at most 64 MiB. Contents are
	// copied several times on their way, so send ids rather than documents.
	// Defaults to 256 KiB.
	MaxContent int

	// MaxWaiting is how many messages may wait in one slot. A send that would add one
	// more gets [ErrQueueFull]; one that merges into a message that waits does not.
	// Dead messages do not count. Messages that wait for a retry count in literal topics
	// only. Defaults to 0: as many as Redis has memory for.
	MaxWaiting int

	// ExactReceipts makes each receipt say whether its message was stored or merged.
	// Otherwise messages that were sent together share one answer. It costs a command
	// for each message. Defaults to false.
	ExactReceipts bool

	// RefusePast makes Send return [ErrPast] for a FixedTime whose At has passed. By
	// default such a message is due now, so a send that is late, or repeated after an
	// outage, is stored, unless its listener has a MaxLate and would find it too late.
	// Defaults to false.
	RefusePast bool

	// Durability is what a Send waits for beyond the master's answer. Defaults
	// to nothing.
	Durability Durability

	// SendMiddleware wraps Send and SendBatch, the first outermost. Defaults to none.
	SendMiddleware []Middleware

	// Observers see what happens to messages: see [message.Event]. They are called in the
	// middle of the work, so they must not block. Defaults to none, which costs nothing.
	Observers []message.Observer

	// Journal keeps what was sent: it is that of package journal. Then the number of each slot that
	// is written to is read, too. Defaults to none, which costs nothing.
	Journal record.Journal

	// Logger receives what concerns no single send: a lost wake-up at Debug, a server
	// that is away or answers again at Warn, an observer that panics at Error. Defaults
	// to Slog; zap.NewNop() is silence.
	Logger *zap.Logger

	// Slog is the same for slog; set one of the two. Defaults to slog.Default(), which
	// gets what is at Warn and Error.
	Slog *slog.Logger
}

// Durability is a number of replicas to wait for.
type Durability struct {
	// Replicas that must have the message before Send returns without
	// [ErrNotReplicated]. Defaults to 0: do not wait.
	Replicas int

	// Timeout of the waiting. It must be shorter than the Redis client's read
	// timeout. Defaults to 1 s.
	Timeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.MaxContent == 0 {
		c.MaxContent = limits.DefaultContentBytes
	}
	if c.Durability.Timeout == 0 {
		c.Durability.Timeout = time.Second
	}
	return c
}

func (c Config) validate() error {
	if err := checked.Namespace(c.Namespace); err != nil {
		return err
	}
	if err := logs.Check(c.Logger, c.Slog); err != nil {
		return err
	}
	for i, m := range c.SendMiddleware {
		if m == nil {
			return &message.InvalidError{Field: "Config.SendMiddleware", Value: fmt.Sprintf("nil at index %d", i), Limit: "functions"}
		}
	}
	if err := observers.Valid(c.Observers); err != nil {
		return err
	}
	switch d := c.Durability; {
	case c.MaxContent < 1 || c.MaxContent > limits.ContentBytes:
		return &message.InvalidError{Field: "Config.MaxContent", Value: strconv.Itoa(c.MaxContent),
			Limit: "1 to 67108864 (64 MiB), or 0 for 256 KiB"}
	case c.MaxWaiting < 0:
		return &message.InvalidError{Field: "Config.MaxWaiting", Value: strconv.Itoa(c.MaxWaiting), Limit: "1 or more, or 0 for any number"}
	case d.Replicas < 0:
		return &message.InvalidError{Field: "Config.Durability.Replicas", Value: strconv.Itoa(d.Replicas), Limit: "0 or more"}
	case d.Timeout < time.Millisecond:
		return &message.InvalidError{Field: "Config.Durability.Timeout", Value: d.Timeout.String(), Limit: "1ms or more, or 0 for 1s"}
	}
	return nil
}
