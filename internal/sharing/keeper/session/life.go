package session

import (
	"context"
	"sync"
)

// life is that of a session. It ends once: the session is lost, closed or abandoned.
type life struct {
	dialer *dialer
	ctx    context.Context // until then
	end    context.CancelCauseFunc
	lost   chan struct{}

	mu     sync.Mutex
	number int64 // ZooKeeper's; 0: not opened yet
}

func newLife(d *dialer) *life {
	l := &life{dialer: d, lost: make(chan struct{})}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	return l
}

// ID is ZooKeeper's number of the session: zk.Stat.EphemeralOwner of its nodes.
func (l *life) ID() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.number
}

// recognize returns why a connection of the session with this number is of no use; nil if it is
// this session's. The first number is.
func (l *life) recognize(number int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case number == 0:
		return errExpired
	case l.number == 0:
		l.number = number
	case l.number != number:
		return errReplaced
	}
	return nil
}

// Context ends when the session is lost, closed or abandoned.
func (l *life) Context() context.Context { return l.ctx }

// Lost is closed when the session is lost: ZooKeeper has ended it, or it will not be heard
// in it again. It is not closed by Close, Leave or Abandon.
func (l *life) Lost() <-chan struct{} { return l.lost }

// Err returns why the session is lost.
func (l *life) Err() error {
	select {
	case <-l.lost:
		return context.Cause(l.ctx)
	default:
		return nil
	}
}

// lose gives the session up: it has ended, or may have.
func (l *life) lose(why error) {
	l.dialer.cut()
	if l.finish(why) {
		close(l.lost)
	}
}

// Leave leaves the session to its timeout, and waits for nothing.
func (l *life) Leave() {
	l.dialer.cut()
	l.finish(errAbandoned)
}

// finish reports whether this call has ended it.
func (l *life) finish(why error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return false
	}
	l.end(why)
	return true
}
