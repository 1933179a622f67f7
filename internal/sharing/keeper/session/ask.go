package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// call describes a call, for its error.
type call struct {
	what, path string
	writes     bool // so it is answered when a majority of the servers has decided on it
}

// caller makes the calls of a session.
type caller struct {
	conn  *zk.Conn
	life  *life
	signs *signs
}

// ask makes a call and waits for its answer. The library knows no timeouts, and
// holds a call back while it has no connection.
func ask[T any](ctx context.Context, by *caller, c call, f func(*zk.Conn) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	timer := time.NewTimer(by.signs.AnswerTimeout())
	defer timer.Stop()
	begun := time.Now()
	if by.life.ctx.Err() == nil {
		go func() {
			value, err := f(by.conn)
			answered <- answer{value, err}
		}()
	}
	var a answer
	select {
	case a = <-answered:
		switch {
		case a.err == nil || definite(a.err):
			if c.writes && (a.err == nil || refused(a.err)) {
				by.signs.confirm(begun)
			}
		case errors.Is(a.err, zk.ErrSessionExpired):
			by.life.lose(errExpired)
		default:
			a.err = passes{a.err}
		}
	case <-timer.C:
		a.err = passes{errNoAnswer}
	case <-ctx.Done():
		a.err = context.Cause(ctx)
	case <-by.life.ctx.Done():
	}
	if by.life.ctx.Err() != nil { // no answer is of use any more
		a.err = context.Cause(by.life.ctx)
	}
	if a.err != nil {
		return a.value, fmt.Errorf("%s %s: %w", c.what, c.path, a.err)
	}
	return a.value, nil
}

// definite reports whether a server has answered with this error, or always will.
func definite(err error) bool {
	for _, known := range []error{
		zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNoAuth, zk.ErrNotEmpty,
		zk.ErrInvalidACL, zk.ErrAuthFailed, zk.ErrNoChildrenForEphemerals, zk.ErrInvalidPath, zk.ErrBadArguments,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// refused reports whether ZooKeeper has refused a write. A majority decides on a refusal
// as on a write: it has a place in their order, and when we get it, we have seen all that
// went before.
func refused(err error) bool {
	for _, known := range []error{zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNoAuth, zk.ErrNotEmpty} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// passes is an error that should pass by itself. The call may have been executed.
type passes struct{ error }

func (p passes) Unwrap() error { return p.error }

// Passing reports whether an error should pass by itself.
func Passing(err error) bool { return errors.As(err, new(passes)) }

// Retry repeats f while its error is one that should pass.
func Retry(ctx context.Context, f func() error) error {
	for {
		err := f()
		if !Passing(err) {
			return err
		}
		if !wait.Sleep(ctx, 50*time.Millisecond) {
			return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		}
	}
}
