package watchdog

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// One timer for each batch. Timeout, renewal, end of the lease and a handler that ignores its context are four
// deadlines, but most batches end in a moment. arm sets the one timer of the slot to whatever comes first, and most
// batches never see it fire. The renewal itself runs beside it: a missing answer must not delay the cancelling of
// handlers.

// Config is what the watchdogs of a worker share.
type Config struct {
	Life     *lifetime.Lifetime
	Scripts  *protocol.Scripts
	Away     *away.Watch
	Hide     logs.Privacy
	AskEvery time.Duration // how often a batch without a lease is asked about
}

// Watchdog watches over the batch of a slot while it is handled: it cancels a
// handler that runs past its timeout, keeps the lease of a batch that takes
// long, and stops the work when the lease is lost. One timer serves all of it,
// and most batches end before it ever fires.
type Watchdog struct {
	*Config // of the worker
	mu      sync.Mutex

	timer    *time.Timer
	batch    *Batch // nil: none
	lease    lease
	lost     bool // the lease
	touching bool // a touch by the timer has no answer yet; the one in Start does not set it
	hung     bool // the handler ignores its context: the lease is kept no longer
	cancels

	ctx    *deadlineContext // of the messages; renewed after one of them timed out
	cancel context.CancelCauseFunc
}

// Batch is one, as its watchdog knows it.
type Batch struct {
	*Limits
	Slot  *schedule.Slot
	ID    string // it was taken under
	Term  Term   // and in
	Log   *zap.Logger
	Keys  *protocol.SlotKeys
	Fence int64
	Sent  time.Time // the turn that took it
	Begun time.Time // when its handlers did; zero while it waits for a permit

	Contents []string

	started time.Time // the message handled last; zero: none was. The watchdog's lock guards it
}

// Limits are those of a topic's handlers.
type Limits struct {
	Timeout  time.Duration
	Hung     time.Duration // how long a handler that ignores its context keeps its slot
	Parallel bool          // several run at the same time
	Together bool          // one has several messages
}

// Term is that in which a worker took a batch.
type Term interface {
	// Lease of a batch; 0: it has none, the session takes its place.
	Lease() time.Duration

	// MayStart reports whether a handler may be started, beside what the batch's lease says.
	MayStart(now time.Time) bool

	// Handlers is the context of the handlers that are begun now.
	Handlers() context.Context

	// Hung leaves a slot to a handler that ignores its context.
	Hung(x *schedule.Slot)
}

// EarlyFinish is how long a batch goes on before what is left of it is given
// back, so that a crash repeats little and urgent messages get in. It is less where
// others wait for a place: see schedule.Slice.
const EarlyFinish = time.Second

// Begin watches over the batch from now on.
func (m *Watchdog) Begin(c *Config, b *Batch) {
	m.mu.Lock() // the timer may fire for the batch before
	defer m.mu.Unlock()
	m.Config, m.batch = c, b
	m.lost, m.touching, m.hung = false, false, false
	m.ctx, m.cancel = nil, nil
	m.cancels.clear()
	m.lease.renewed(b.Sent, b.Term.Lease(), m.AskEvery)
	m.arm()
}

// Resume notes that the batch, which has waited for a permit, begins.
func (m *Watchdog) Resume(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.batch.Begun = now
	m.arm()
}

// Holds reports whether the batch is still the worker's, as far as it knows.
func (m *Watchdog) Holds(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.lost && !m.hung && !m.lease.over(now) && m.batch.Term.MayStart(now)
}

// Doubt has the lease be taken for over, as after a pause of the process: what begins next waits until it is renewed. It is for
// tests.
func (m *Watchdog) Doubt() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lease.until = time.Now().Add(-time.Second)
}

// Start notes that message i is handled from now on, and returns its context
// (in a parallel batch, the parent of its context), or false if nothing may be
// started any more.
func (m *Watchdog) Start(now time.Time, i int) (context.Context, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.lost && m.lease.over(now) {
		m.touch(m.batch) // late, by a slow network or a pause: ask before anything begins
		now = time.Now()
	}
	term := m.batch.Term
	if m.lost || m.hung || m.lease.over(now) || !term.MayStart(now) {
		return nil, false
	}
	timedOut := m.ctx != nil && m.ctx.Err() != nil
	if m.ctx == nil || timedOut {
		m.ctx = new(deadlineContext)
		m.ctx.Context, m.cancel = context.WithCancelCause(term.Handlers())
	}
	m.batch.started = now
	if m.batch.Parallel {
		return m.alone(m.ctx.Context, len(m.batch.Contents), i), true // each message has a deadline of its own
	}
	if m.current = i; m.is(i) {
		m.cancel(verdict.ErrCancelled)
	}
	m.ctx.set(now.Add(m.batch.Timeout))
	if timedOut {
		m.arm() // it is set for whatever came next for the one that timed out
	}
	return m.ctx, true
}

// End ends the watching. The context of the batch is over with it.
func (m *Watchdog) End() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer.Stop() {
		m.Life.Release()
	}
	if m.cancel != nil {
		m.cancel(nil)
	}
	m.batch = nil
}

// running is how long the oldest handler has surely been running.
func (b *Batch) running(now time.Time) time.Duration {
	if b.started.IsZero() {
		return 0 // it waits for a permit, or for what its handlers have to know
	}
	if b.Parallel {
		return now.Sub(b.Begun) - EarlyFinish
	}
	return now.Sub(b.started)
}

// arm sets the timer to whatever comes next. The caller holds m.mu.
func (m *Watchdog) arm() {
	b, now := m.batch, time.Now()
	in := b.Hung - b.running(now)
	if !b.Parallel && (m.ctx == nil || m.ctx.Err() == nil) {
		in = min(in, b.Timeout-b.running(now))
	}
	switch {
	case m.lost, m.touching && m.lease.until.IsZero():
	case m.touching:
		in = min(in, m.lease.until.Sub(now)+1) // After is true then
	default:
		in = min(in, m.lease.touchAt.Sub(now))
	}
	m.Life.Hold()
	if m.timer == nil {
		m.timer = time.AfterFunc(in, m.look)
	} else if m.timer.Reset(in) {
		m.Life.Release() // it had been set already
	}
}

// look is what the timer does.
func (m *Watchdog) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.Life.Release()
	if m.batch == nil {
		return // the batch ended as the timer fired
	}
	b, now := m.batch, time.Now()
	running := b.running(now)
	if !b.Parallel && m.ctx != nil && m.ctx.Err() == nil && running >= b.Timeout {
		m.cancel(verdict.ErrTimeout)
		b.log(m.Hide, m.current).Warn("handler has run for longer than its timeout; its context is cancelled")
	}
	if running >= b.Hung {
		m.hung = true
		b.Term.Hung(b.Slot)
		b.log(m.Hide, m.current).Error("handler ignores its context; its batch is not kept any longer", zap.Duration("running", running))
		return
	}
	if m.touching && !m.lost && m.lease.over(now) {
		m.lose(nil)
	}
	if !m.lost && !m.touching && !now.Before(m.lease.touchAt) {
		// Not waited for here: an answer that does not come must keep nothing from
		// cancelling the handlers in time.
		m.touching = true
		m.Life.Go(func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.touch(b)
			if m.batch == b && !m.hung {
				m.touching = false
				m.askAgain(&m.lease)
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
func (m *Watchdog) touch(b *Batch) {
	sent, c := time.Now(), m.Config // m may watch over another batch meanwhile
	m.mu.Unlock()
	leased := b.Term.Lease() > 0
	held, asked, err := c.Scripts.Keep(c.Life.Requests, *b.Keys, b.ID, b.Fence, leased)
	level := c.Away.Level(b.Keys.Store, err)
	m.mu.Lock()
	switch now := time.Now(); {
	case m.batch != b || m.lost: // it ended meanwhile
	case err == nil && held:
		m.lease.renewed(sent, b.Term.Lease(), m.AskEvery)
		m.heed(b, asked, m.Hide, m.cancel)
	case !leased:
		m.lease.touchAt = now.Add(m.AskEvery / 10)
	case err == nil || m.lease.over(now):
		m.lose(err)
	default:
		b.log(m.Hide, m.current).Log(level, "the lease of a batch could not be renewed", zap.Error(err))
		m.lease.touchAt = now.Add(b.Term.Lease() / 20)
	}
}

// lose notes that the lease is lost, to err or to another worker, and cancels
// the handlers.
func (m *Watchdog) lose(err error) {
	b := m.batch
	m.lost = true
	if m.cancel != nil {
		m.cancel(verdict.ErrLeaseLost)
	}
	b.log(m.Hide, m.current).Warn("the lease of a batch is lost; its handlers are cancelled", zap.Error(err))
}

// log is for lines about the message handled last, unless several are handled at the same time: then it is below 0.
func (b *Batch) log(hide logs.Privacy, last int) *zap.Logger {
	log := b.Log.With(zap.String("topic", b.Slot.Topic().Name), zap.Int("slot", b.Slot.Index))
	if last < 0 {
		return log
	}
	return log.With(hide.Content(b.Contents[last])...)
}
