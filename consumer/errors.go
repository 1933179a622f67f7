package consumer

import (
	"errors"
	"time"

	"github.com/slotmq/go-rmq/internal/sharing/fleet"
	"github.com/slotmq/go-rmq/message"
)

var (
	// ErrClosing is the cause of a handler's context that Close has cancelled.
	// An error returned then spends no attempt.
	ErrClosing = errors.New("the worker is closing")

	// ErrLeaseLost is the cause of a handler's context when the worker could not
	// keep its batch: another worker may be given the message.
	ErrLeaseLost = fleet.ErrLeaseLost

	// ErrTimeout is the cause of a handler's context when the handler has run
	// for longer than Timeout.
	ErrTimeout = errors.New("the handler has run for longer than its timeout")

	// ErrDead is found by errors.Is in the errors that [Dead] returns, and ErrPanic in the
	// failure of a handler that panicked or ended its goroutine, which observers see.
	ErrDead  = errors.New("declared dead by its listener")
	ErrPanic = errors.New("panic")

	// ErrCancelled is the cause of a handler's context when the message was cancelled
	// meanwhile. Unless the handler returns nil, the message is dropped: it is neither
	// tried again nor dead.
	ErrCancelled = errors.New("the message was cancelled")

	// ErrExpired is what observers see of a message that came too late: later than MaxLate, or
	// when its time to live was over. No handler has seen it.
	ErrExpired = errors.New("the message came too late")

	// ErrRunning is returned by Listen after Start, and by a second Start.
	ErrRunning = errors.New("it has been started already")
)

var (
	errNilContext  = errors.New("ctx is nil")
	errNilListener = &message.InvalidError{Field: "the listener", Value: "nil", Limit: "what handles the messages"}
	errNilRedis    = errors.New("the Redis client is nil")
)

// errGoexit is the failure of a handler that called runtime.Goexit, as
// testing.T.FailNow does.
var errGoexit error = goexitError{}

type goexitError struct{}

func (goexitError) Error() string { return "the handler ended its goroutine" }

func (goexitError) Is(target error) bool { return target == ErrPanic }

type deadError struct{ error }

func (e deadError) Unwrap() error { return e.error }

func (e deadError) Is(target error) bool { return target == ErrDead }

// Dead marks a failure that no retry can mend: the message is dead at once,
// with err as the reason.
func Dead(err error) error {
	if err == nil {
		err = ErrDead
	}
	return deadError{err}
}

type laterError struct {
	after time.Duration
}

func (e laterError) Error() string { return "put back by its handler for " + e.after.String() }

// Later puts a message back: it comes again after d, and the delivery does not count. It is
// no failure, so a message may be put back for ever. Its priority stays, and when d is over
// it takes its place among the others again. You may wrap the error, to say why.
func Later(d time.Duration) error { return laterError{delay(d)} }

type retryError struct {
	error
	after time.Duration
}

func (e retryError) Unwrap() error { return e.error }

// RetryAfter marks a failure that is worth a retry after d rather than after
// the back-off. It spends an attempt as any failure does. On a literal topic,
// which knows no waiting, d does not matter.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		err = errors.New("to be retried")
	}
	return retryError{err, max(0, d)}
}
