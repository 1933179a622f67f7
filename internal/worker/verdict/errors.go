package verdict

import (
	"errors"
	"time"
)

// Why the context of a handler ends.
var (
	ErrClosing   = errors.New("the worker is closing")
	ErrLeaseLost = errors.New("the lease of the batch is lost")
	ErrTimeout   = errors.New("the handler has run for longer than its timeout")
	ErrCancelled = errors.New("the message was cancelled")
)

// What errors.Is finds in the errors of messages.
var (
	ErrDead       = errors.New("declared dead by its listener")
	ErrPanic      = errors.New("panic")
	ErrExpired    = errors.New("the message came too late")
	ErrPushedBack = errors.New("pushed back by its handler")
)

// Ended is the failure of a handler that called runtime.Goexit, as testing.T.FailNow does.
var Ended error = goexitError{}

type goexitError struct{}

func (goexitError) Error() string { return "the handler ended its goroutine" }

func (goexitError) Is(target error) bool { return target == ErrPanic }

type deadError struct{ error }

func (e deadError) Unwrap() error { return e.error }

func (e deadError) Is(target error) bool { return target == ErrDead }

// DeadError marks a failure that no retry can mend.
func DeadError(err error) error {
	if err == nil {
		err = ErrDead
	}
	return deadError{err}
}

type laterError struct {
	after time.Duration
}

func (e laterError) Error() string { return "put back by its handler for " + e.after.String() }

// LaterError puts a message back.
func LaterError(d time.Duration) error { return laterError{within(d)} }

type retryError struct {
	error
	after time.Duration
}

func (e retryError) Unwrap() error { return e.error }

// RetryError marks a failure that is worth a retry after d.
func RetryError(d time.Duration, err error) error {
	if err == nil {
		err = errors.New("to be retried")
	}
	return retryError{err, max(0, d)}
}

// LongestRest bounds what a topic rests.
const LongestRest = time.Hour

type pushbackError struct {
	error
	rest time.Duration
}

func (e pushbackError) Unwrap() error { return e.error }

func (e pushbackError) Is(target error) bool { return target == ErrPushedBack }

// PushbackError hands a message back, and has its topic rest for d.
func PushbackError(d time.Duration, err error) error {
	if err == nil {
		err = ErrPushedBack
	}
	return pushbackError{err, min(max(d, time.Millisecond), LongestRest)}
}

// as is errors.As for an error of the user's, whose methods may panic.
func as[E error](err error, target *E) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return errors.As(err, target)
}
