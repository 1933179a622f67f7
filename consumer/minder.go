package consumer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// minder watches over the batch of a slot while it is handled: it cancels a
// handler that runs past its timeout, keeps the lease of a batch that takes
// long, and stops the work when the lease is lost. One timer serves all of it,
// and most batches end before it ever fires.
type minder struct {
	c  *Consumer
	mu sync.Mutex

	timer    *time.Timer
	b        *batch    // nil: no batch
	until    time.Time // the lease holds, reckoned from before the request, less a margin
	touchAt  time.Time
	started  time.Time // the message handled last
	lost     bool      // the lease
	touching bool      // a touch has no answer yet
	deserted bool      // the handler ignores its context: the lease is kept no longer

	ctx    *deadlineContext // of the messages; renewed after one of them timed out
	cancel context.CancelCauseFunc
}

// deadlineContext is the context of the messages of one batch: cancelled all
// together, with a deadline for the one being handled. A context for each would
// cost more than a message does. A handler may ask for its deadline at any time.
type deadlineContext struct {
	context.Context
	nanos atomic.Int64
}

// Deadline returns when the message being handled times out.
func (c *deadlineContext) Deadline() (time.Time, bool) { return time.Unix(0, c.nanos.Load()), true }

func (c *deadlineContext) set(t time.Time) { c.nanos.Store(t.UnixNano()) }

// margin is what a lease is reckoned shorter by.
func margin(lease time.Duration) time.Duration { return max(lease/10, 500*time.Millisecond) }

const endless = 100 * 365 * 24 * time.Hour

// begin watches over the batch from now on.
func (m *minder) begin(b *batch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.c, m.b = b.c, b
	m.started, m.lost, m.touching, m.deserted = b.begun, false, false, false
	m.ctx, m.cancel = nil, nil
	m.renewed(b.sent)
	m.arm()
}

// resume notes that the batch, which has waited for a place, begins.
func (m *minder) resume(b *batch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b.begin(time.Now())
	m.started = b.begun
	m.arm()
}

// renewed notes that the lease was begun by a request sent at a time.
func (m *minder) renewed(sent time.Time) {
	lease := m.c.cfg.Lease
	if m.b.term().member != nil {
		lease = endless // the session takes its place: see term.trusted
	}
	m.until, m.touchAt = sent.Add(lease-margin(lease)), sent.Add(lease/3)
}

// start notes that a message is handled from now on, and returns its context
// (in a parallel batch, the parent of its context), or false if nothing may be
// started any more.
func (m *minder) start(now time.Time) (context.Context, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.lost && now.After(m.until) {
		m.touch(m.b) // late, by a slow network or a pause: ask before anything begins
		now = time.Now()
	}
	if m.lost || m.deserted || now.After(m.until) || !m.b.term().trusted(now) {
		return nil, false
	}
	timedOut := m.ctx != nil && m.ctx.Err() != nil
	if m.ctx == nil || timedOut {
		m.ctx = new(deadlineContext)
		m.ctx.Context, m.cancel = context.WithCancelCause(m.b.term().handlers)
	}
	m.started = now
	if m.b.topic.opts.Parallel {
		return m.ctx.Context, true // each message has a deadline of its own
	}
	m.ctx.set(now.Add(m.b.topic.opts.Timeout))
	if timedOut {
		m.arm() // it is set for whatever came next for the one that timed out
	}
	return m.ctx, true
}

// end ends the watching. The context of the batch is over with it.
func (m *minder) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer.Stop() {
		m.c.watching.Done()
	}
	if m.cancel != nil {
		m.cancel(nil)
	}
	m.b = nil
}

// running is how long the oldest handler has surely been running.
func (m *minder) running(now time.Time) time.Duration {
	if m.b.begun.IsZero() {
		return 0 // it waits for a place
	}
	if m.b.topic.opts.Parallel {
		return now.Sub(m.b.begun) - earlyFinish
	}
	return now.Sub(m.started)
}

// arm sets the timer to whatever comes next. The caller holds m.mu.
func (m *minder) arm() {
	o, now := m.b.topic.opts, time.Now()
	in := o.MaxHandlerTime - m.running(now)
	if !o.Parallel && (m.ctx == nil || m.ctx.Err() == nil) {
		in = min(in, o.Timeout-m.running(now))
	}
	switch {
	case m.lost:
	case m.touching:
		in = min(in, m.until.Sub(now)+1) // After is true then
	default:
		in = min(in, m.touchAt.Sub(now))
	}
	m.c.watching.Add(1)
	if m.timer == nil {
		m.timer = time.AfterFunc(in, m.look)
	} else if m.timer.Reset(in) {
		m.c.watching.Done() // it had been set already
	}
}

// look is what the timer does.
func (m *minder) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.c.watching.Done()
	if m.b == nil {
		return // the batch ended as the timer fired
	}
	b, o, now := m.b, m.b.topic.opts, time.Now()
	running := m.running(now)
	if !o.Parallel && m.ctx != nil && m.ctx.Err() == nil && running >= o.Timeout {
		m.cancel(ErrTimeout)
		m.log().Warn("handler has run for longer than its timeout; its context is cancelled")
	}
	if running >= o.MaxHandlerTime {
		m.deserted = true
		m.c.desert(b.slot)
		m.log().Error("handler ignores its context; its batch is not kept any longer", zap.Duration("running", running))
		return
	}
	if m.touching && !m.lost && now.After(m.until) {
		m.lose(nil)
	}
	if !m.lost && !m.touching && !now.Before(m.touchAt) {
		// Not waited for here: an answer that does not come must keep nobody from
		// cancelling the handlers in time.
		m.touching = true
		m.c.watching.Go(func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.touch(b)
			if m.b == b && !m.deserted {
				m.touching = false
				m.arm()
			}
		})
	}
	m.arm()
}

// touch begins the lease of batch b anew. m.mu is free meanwhile.
func (m *minder) touch(b *batch) {
	sent := time.Now()
	m.mu.Unlock()
	held, err := m.c.scripts.Touch(m.c.requests, b.turn.Keys, b.ID(), b.answer.Number)
	m.mu.Lock()
	switch now := time.Now(); {
	case m.b != b || m.lost: // it ended meanwhile
	case err == nil && held:
		m.renewed(sent)
	case err == nil || now.After(m.until):
		m.lose(err)
	default:
		m.log().Warn("the lease of a batch could not be renewed", zap.Error(err))
		m.touchAt = now.Add(m.c.cfg.Lease / 20)
	}
}

// lose notes that the lease is lost, to err or to another worker, and cancels
// the handlers.
func (m *minder) lose(err error) {
	m.lost = true
	if m.cancel != nil {
		m.cancel(ErrLeaseLost)
	}
	m.log().Warn("the lease of a batch is lost; its handlers are cancelled", zap.Error(err))
}

func (m *minder) log() *zap.Logger { return m.c.logOf(m.b.slot) }
