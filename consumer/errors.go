package consumer

import (
	"errors"
	"time"

	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

var (
	// ErrClosing is the cause of a handler's context that Close has cancelled.
	// An error returned then spends no attempt.
	ErrClosing = verdict.ErrClosing

	// ErrLeaseLost is the cause of a handler's context when the worker could not
	// keep its batch: another worker may be given the message.
	ErrLeaseLost = verdict.ErrLeaseLost

	// ErrTimeout is the cause of a handler's context when the handler has run
	// for longer than Timeout.
	ErrTimeout = verdict.ErrTimeout

	// ErrDead is found by errors.Is in the errors that [Dead] returns, and ErrPanic in the
	// failure of a handler that panicked or ended its goroutine, which observers see.
	ErrDead  = verdict.ErrDead
	ErrPanic = verdict.ErrPanic

	// ErrCancelled is the cause of a handler's context when the message was cancelled
	// meanwhile. Unless the handler returns nil, the message is dropped: it is neither
	// tried again nor dead.
	ErrCancelled = verdict.ErrCancelled

	// ErrExpired is what observers see of a message that came too late: later than MaxLate, or
	// when its time to live was over. No handler has seen it.
	ErrExpired = verdict.ErrExpired

	// ErrPushedBack is found by errors.Is in the errors that [Pushback] returns, and by observers in
	// those of a message that was handed back for this reason.
	ErrPushedBack = verdict.ErrPushedBack

	// ErrRunning is returned by Listen after Start, and by a second Start.
	ErrRunning = errors.New("it has been started already")
)

var (
	errNilContext  = errors.New("ctx is nil")
	errNilListener = &message.InvalidError{Field: "the listener", Value: "nil", Limit: "what handles the messages"}
	errNilRedis    = errors.New("the Redis client is nil")
)

// Dead marks a failure that no retry can mend: the message is dead at once,
// with err as the reason.
func Dead(err error) error { return verdict.DeadError(err) }

// Later puts a message back: it comes again after d, and the delivery does not count. It is
// no failure, so a message may be put back for ever. Its priority stays, and when d is over
// it takes its place among the others again. You may wrap the error, to say why.
func Later(d time.Duration) error { return verdict.LaterError(d) }

// RetryAfter marks a failure that is worth a retry after d rather than after
// the back-off. It spends an attempt as any failure does. On a literal topic,
// which knows no waiting, d does not matter.
func RetryAfter(d time.Duration, err error) error { return verdict.RetryError(d, err) }

// Pushback says that what is behind the handler takes no more at present: the message goes back,
// the delivery does not count, and this worker begins nothing else of the topic for d. It is no
// failure, so a message may be pushed back for ever. Handlers that run go on; if several push
// back, the topic rests until the last of them is satisfied. d is at least 1 ms and at most 1
// hour: what is outside counts as the nearest of these. err says why; you may wrap the error.
func Pushback(d time.Duration, err error) error { return verdict.PushbackError(d, err) }
