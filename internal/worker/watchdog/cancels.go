package watchdog

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// A message in flight may be cancelled: meta notes which, for one batch. The watchdog of the
// batch reads that with each touch, and at once when a wake-up says so. It cancels the
// handler's context, and then the message is over: what was cancelled is not tried again,
// nor dead, unless its handler has returned nil. A request that comes after the last touch,
// and whose wake-up is lost, has no effect.

// cancels are the messages of a batch that are to be cancelled. The lock of the watchdog
// guards them.
type cancels struct {
	some    atomic.Bool // at least one is; nothing else is looked at otherwise
	which   []bool
	current int                       // the message handled last, or the first one of a call, if they are not handled at the same time
	behind  int                       // the one behind the last one of that call
	each    []context.CancelCauseFunc // of the contexts, if they are handled at the same time; nil: it is not handled
	again   bool                      // to be asked about once more, after the touch under way
}

func (c *cancels) clear() {
	c.some.Store(false)
	c.which, c.current, c.behind, c.each, c.again = nil, -1, 0, nil, false
}

// is reports whether message i is to be cancelled.
func (c *cancels) is(i int) bool { return c.some.Load() && c.which[i] }

// Hurry has the batch, if there is one, asked about now.
func (m *Watchdog) Hurry() {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.batch == nil, m.lost, m.hung:
	case m.touching: // which may have been answered before
		m.again = true
	default:
		m.lease.touchAt = time.Now()
		m.arm()
	}
}

// askAgain has the batch asked about at once if it was in a hurry meanwhile.
func (c *cancels) askAgain(l *lease) {
	if c.again {
		c.again, l.touchAt = false, time.Now()
	}
}

// heed cancels the handlers of messages that are asked for.
func (c *cancels) heed(b *Batch, asked protocol.Cancels, hide logs.Privacy, cancel context.CancelCauseFunc) {
	if len(asked) == 0 {
		return
	}
	if c.which == nil {
		c.which = make([]bool, len(b.Contents))
	}
	for i, content := range b.Contents {
		if c.which[i] || !asked.Has(content) {
			continue
		}
		c.which[i] = true
		c.some.Store(true)
		b.log(hide, i).Info("a message is cancelled that is in flight")
		switch {
		case b.Together: // others are handled in the same call
		case b.Parallel:
			if c.each != nil && c.each[i] != nil {
				c.each[i](verdict.ErrCancelled)
			}
		case i == c.current:
			cancel(verdict.ErrCancelled)
		}
	}
}

// alone returns a context for message i of so many, which are handled at the same time.
func (c *cancels) alone(parent context.Context, messages, i int) context.Context {
	if c.each == nil {
		c.each = make([]context.CancelCauseFunc, messages)
	}
	var ctx context.Context
	ctx, c.each[i] = context.WithCancelCause(parent) // ends with its parent
	if c.is(i) {
		c.each[i](verdict.ErrCancelled)
	}
	return ctx
}

// Returned notes that the handler of message i, one of several that are handled at the same time, has returned.
func (m *Watchdog) Returned(i int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.each[i] = nil
}

// Calls notes that the call which has just been started has the messages up to one.
func (m *Watchdog) Calls(behind int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.behind = behind
}

// Cancelled reports whether message i is to be cancelled.
func (m *Watchdog) Cancelled(i int) bool {
	if !m.some.Load() {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.is(i)
}
