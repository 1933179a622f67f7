package consumer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/sharing/fleet"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// One timer for each batch. Timeout, renewal, end of the lease and a handler that ignores its context are four
// deadlines, but most batches end in a moment. arm sets the one timer of the slot to whatever comes first, and most
// batches never see it fire. The renewal itself runs beside it: a missing answer must not delay the cancelling of
// handlers.

// watchdog watches over the batch of a slot while it is handled: it cancels a
// handler that runs past its timeout, keeps the lease of a batch that takes
// long, and stops the work when the lease is lost. One timer serves all of it,
// and most batches end before it ever fires.
type watchdog struct {
	*batches // of the worker
	mu       sync.Mutex

	timer    *time.Timer
	watched  *watched  // nil: no batch
	until    time.Time // the lease holds, counted from before the request, less a margin; zero: no lease
	touchAt  time.Time
	started  time.Time // the message handled last; zero: none was
	lost     bool      // the lease
	touching bool      // a touch by the timer has no answer yet; the one in start does not set it
	hung     bool      // the handler ignores its context: the lease is kept no longer
	cancels

	ctx    *deadlineContext // of the messages; renewed after one of them timed out
	cancel context.CancelCauseFunc
}

// watched is a batch, as its watchdog knows it.
type watched struct {
	slot  *schedule.Slot
	id    string      // it was taken under
	term  *fleet.Term // and in
	opts  *ListenOptions
	keys  *protocol.SlotKeys
	fence int64
	sent  time.Time // the turn that took it
	begun time.Time // when its handlers did; zero while it waits for a place

	contents []string
	together bool // several are handled in one call
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

// earlyFinish is how long a batch goes on before what is left of it is given
// back, so that a crash repeats little and urgent messages get in. It is less where
// others wait for a place: see schedule.Slice.
const earlyFinish = time.Second

// margin is how much shorter a lease is taken to be.
func margin(lease time.Duration) time.Duration { return max(lease/10, 500*time.Millisecond) }

// begin watches over the batch from now on.
func (m *watchdog) begin(c *batches, b *watched) {
	m.mu.Lock() // the timer may fire for the batch before
	defer m.mu.Unlock()
	m.batches, m.watched = c, b
	m.started, m.lost, m.touching, m.hung = time.Time{}, false, false, false
	m.ctx, m.cancel = nil, nil
	m.cancels.clear()
	m.renewed(b.sent)
	m.arm()
}

// resume notes that the batch, which has waited for a place, begins.
func (m *watchdog) resume(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watched.begun = now
	m.arm()
}

// renewed notes that the lease was begun by a request sent at a time. Without a lease,
// the session takes its place: see fleet.Term.MayStart. Then a touch only asks which messages
// are to be cancelled.
func (m *watchdog) renewed(sent time.Time) {
	m.until, m.touchAt = time.Time{}, sent.Add(m.askEvery)
	if lease := m.watched.term.Lease(); lease > 0 {
		m.until, m.touchAt = sent.Add(lease-margin(lease)), sent.Add(lease/3)
	}
}

// over reports whether the lease may be over.
func (m *watchdog) over(now time.Time) bool { return !m.until.IsZero() && now.After(m.until) }

// holds reports whether the batch is still the worker's, as far as it knows.
func (m *watchdog) holds(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.lost && !m.hung && !m.over(now) && m.watched.term.MayStart(now)
}

// start notes that message i is handled from now on, and returns its context
// (in a parallel batch, the parent of its context), or false if nothing may be
// started any more.
func (m *watchdog) start(now time.Time, i int) (context.Context, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.lost && m.over(now) {
		m.touch(m.watched) // late, by a slow network or a pause: ask before anything begins
		now = time.Now()
	}
	term := m.watched.term
	if m.lost || m.hung || m.over(now) || !term.MayStart(now) {
		return nil, false
	}
	timedOut := m.ctx != nil && m.ctx.Err() != nil
	if m.ctx == nil || timedOut {
		m.ctx = new(deadlineContext)
		m.ctx.Context, m.cancel = context.WithCancelCause(term.Handlers())
	}
	m.started = now
	if m.watched.opts.Parallel {
		return m.alone(i), true // each message has a deadline of its own
	}
	if m.current = i; m.is(i) {
		m.cancel(ErrCancelled)
	}
	m.ctx.set(now.Add(m.watched.opts.Timeout))
	if timedOut {
		m.arm() // it is set for whatever came next for the one that timed out
	}
	return m.ctx, true
}

// end ends the watching. The context of the batch is over with it.
func (m *watchdog) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer.Stop() {
		m.life.Release()
	}
	if m.cancel != nil {
		m.cancel(nil)
	}
	m.watched = nil
}

// running is how long the oldest handler has surely been running.
func (m *watchdog) running(now time.Time) time.Duration {
	if m.started.IsZero() {
		return 0 // it waits for a place, or for what its handlers have to know
	}
	if m.watched.opts.Parallel {
		return now.Sub(m.watched.begun) - earlyFinish
	}
	return now.Sub(m.started)
}

// arm sets the timer to whatever comes next. The caller holds m.mu.
func (m *watchdog) arm() {
	o, now := m.watched.opts, time.Now()
	in := o.hung - m.running(now)
	if !o.Parallel && (m.ctx == nil || m.ctx.Err() == nil) {
		in = min(in, o.Timeout-m.running(now))
	}
	switch {
	case m.lost, m.touching && m.until.IsZero():
	case m.touching:
		in = min(in, m.until.Sub(now)+1) // After is true then
	default:
		in = min(in, m.touchAt.Sub(now))
	}
	m.life.Hold()
	if m.timer == nil {
		m.timer = time.AfterFunc(in, m.look)
	} else if m.timer.Reset(in) {
		m.life.Release() // it had been set already
	}
}

// look is what the timer does.
func (m *watchdog) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.life.Release()
	if m.watched == nil {
		return // the batch ended as the timer fired
	}
	b, o, now := m.watched, m.watched.opts, time.Now()
	running := m.running(now)
	if !o.Parallel && m.ctx != nil && m.ctx.Err() == nil && running >= o.Timeout {
		m.cancel(ErrTimeout)
		m.log().Warn("handler has run for longer than its timeout; its context is cancelled")
	}
	if running >= o.hung {
		m.hung = true
		b.term.Hung(b.slot)
		m.log().Error("handler ignores its context; its batch is not kept any longer", zap.Duration("running", running))
		return
	}
	if m.touching && !m.lost && m.over(now) {
		m.lose(nil)
	}
	if !m.lost && !m.touching && !now.Before(m.touchAt) {
		// Not waited for here: an answer that does not come must keep nothing from
		// cancelling the handlers in time.
		m.touching = true
		m.life.Go(func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.touch(b)
			if m.watched == b && !m.hung {
				m.touching = false
				m.askAgain()
				m.arm()
			}
		})
	}
	// After a freeze the time may be over already, and the touch has only been begun. Then
	// the timer is set to the past, fires at once, and look cancels the handlers.
	m.arm()
}

// touch renews the lease of batch b, if it has one, and asks which of its messages are to be
// cancelled. m.mu is free meanwhile.
func (m *watchdog) touch(b *watched) {
	sent, c := time.Now(), m.batches // m may watch over another batch meanwhile
	m.mu.Unlock()
	leased := b.term.Lease() > 0
	held, asked, err := c.scripts.Keep(c.life.Requests, *b.keys, b.id, b.fence, leased)
	level := c.away.Level(b.keys.Store, err)
	m.mu.Lock()
	switch now := time.Now(); {
	case m.watched != b || m.lost: // it ended meanwhile
	case err == nil && held:
		m.renewed(sent)
		m.heed(asked)
	case !leased:
		m.touchAt = now.Add(m.askEvery / 10)
	case err == nil || m.over(now):
		m.lose(err)
	default:
		m.log().Log(level, "the lease of a batch could not be renewed", zap.Error(err))
		m.touchAt = now.Add(b.term.Lease() / 20)
	}
}

// lose notes that the lease is lost, to err or to another worker, and cancels
// the handlers.
func (m *watchdog) lose(err error) {
	m.lost = true
	if m.cancel != nil {
		m.cancel(ErrLeaseLost)
	}
	m.log().Warn("the lease of a batch is lost; its handlers are cancelled", zap.Error(err))
}

// log is for lines about the message handled last, unless several are handled at the same time.
func (m *watchdog) log() *zap.Logger {
	log := logOf(m.watched.slot)
	if m.current < 0 {
		return log
	}
	return log.With(m.hide.content(m.watched.contents[m.current])...)
}
