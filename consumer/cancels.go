package consumer

import (
	"context"
	"sync/atomic"
	"time"

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

// hurry has the batch, if there is one, asked about now.
func (m *watchdog) hurry() {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.watched == nil, m.lost, m.hung:
	case m.touching: // which may have been answered before
		m.again = true
	default:
		m.touchAt = time.Now()
		m.arm()
	}
}

// askAgain has the batch asked about at once if it was in a hurry meanwhile.
func (m *watchdog) askAgain() {
	if m.again {
		m.again, m.touchAt = false, time.Now()
	}
}

// heed cancels the handlers of messages that are asked for.
func (m *watchdog) heed(asked protocol.Cancels) {
	if len(asked) == 0 {
		return
	}
	b := m.watched
	if m.which == nil {
		m.which = make([]bool, len(b.contents))
	}
	for i, content := range b.contents {
		if m.which[i] || !asked.Has(content) {
			continue
		}
		m.which[i] = true
		m.some.Store(true)
		logOf(b.slot).Info("a message is cancelled that is in flight", m.hide.content(content)...)
		switch {
		case b.together: // others are handled in the same call
		case b.opts.Parallel:
			if m.each != nil && m.each[i] != nil {
				m.each[i](ErrCancelled)
			}
		case i == m.current:
			m.cancel(ErrCancelled)
		}
	}
}

// alone returns a context for message i of several that are handled at the same time.
func (m *watchdog) alone(i int) context.Context {
	if m.each == nil {
		m.each = make([]context.CancelCauseFunc, len(m.watched.contents))
	}
	var ctx context.Context
	ctx, m.each[i] = context.WithCancelCause(m.ctx.Context) // ends with its parent
	if m.is(i) {
		m.each[i](ErrCancelled)
	}
	return ctx
}

// returned notes that the handler of message i, one of several that are handled at the same time, has returned.
func (m *watchdog) returned(i int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.each[i] = nil
}

// calls notes that the call which has just been started has the messages up to one.
func (m *watchdog) calls(behind int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.behind = behind
}

// cancelled reports whether message i is to be cancelled.
func (m *watchdog) cancelled(i int) bool {
	if !m.some.Load() {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.is(i)
}

// passCancelled passes over messages that were cancelled before their handler began.
func (b *batch) passCancelled() {
	if !b.watchdog.some.Load() {
		return
	}
	for b.next < len(b.answer.Contents) && b.watchdog.cancelled(b.next) {
		b.results[b.next] = verdict.Cancelled
		b.next++
		b.late++
	}
}

// dropCancelled drops what was cancelled and is not done, however its handler ended, and also
// if it has not begun.
func (b *batch) dropCancelled() {
	if !b.watchdog.some.Load() {
		return
	}
	for i, v := range b.results {
		if v.Fate != verdict.Done && v.Fate != verdict.Dropped && b.watchdog.cancelled(i) {
			b.results[i] = verdict.Cancelled
			b.results[i].Took = v.Took
		}
	}
}
