package producer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/message"
)

// Definite and indefinite errors. refused lists what proves that Redis did not execute a command: it said so, or was
// never reached. Everything else is ErrUncertain. In doubt it must be uncertain.

var (
	// ErrUncertain is returned when it is not known whether the message was
	// stored: the connection was lost, or the context ended, after it was
	// written and before Redis answered.
	ErrUncertain = errors.New("it is not known whether the message was stored")

	// ErrNotReplicated is returned when the message is stored on the master, but
	// fewer replicas than Durability asks for acknowledged it in time.
	ErrNotReplicated = errors.New("stored, but not acknowledged by enough replicas")

	// ErrQueueFull is returned when the message's slot holds as many contents as
	// Config.MaxWaiting allows. The message is not stored.
	ErrQueueFull = errors.New("the slot is full")

	// ErrPast is returned for a FixedTime whose At has passed, by the clock of the Redis
	// server: with Config.RefusePast, or by more than the MaxLate of the topic's listener, who
	// would not handle it. Nothing is stored, also of the other
	// messages of a SendBatch; its error names the index. It is message.ErrInvalid, too.
	ErrPast = errors.New("the time has passed")
)

var (
	// errUnsent marks failures that came before anything was sent.
	errUnsent = errors.New("not sent")

	errNilContext = errors.New("ctx is nil")
)

// past refuses a message whose time is over at now, or was over so long before, as listeners have it.
func past(b *checked.Message, now time.Time, maxLate time.Duration) error {
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	limit := "after the server's clock, " + stamp(now)
	if maxLate > 0 {
		limit = fmt.Sprintf("at most %v, the MaxLate of the topic's listener, before the server's clock, %s", maxLate, stamp(now))
	}
	return fmt.Errorf("%w: %w", ErrPast, &message.InvalidError{Field: "At", Value: stamp(time.UnixMilli(b.Value)), Limit: limit})
}

// refused reports whether err proves that Redis did not execute the command.
func refused(err error) bool { return errors.Is(err, errUnsent) || cluster.Refused(err) }

// passes reports whether the same command may succeed a moment later.
func passes(err error) bool { return cluster.Passes(err) && !errors.Is(err, context.Canceled) }
