package consumer

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/internal/worker/breaker"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// gate is what the batches of a topic pass before each message and after it. Nearly always it is
// open, and costs an atomic load each time. It lets nothing through, or one message at a time, as the
// topic's breaker wants it, and nothing while the topic rests after a Pushback. The schedule is
// informed, so that nothing is taken that may not begin.
type gate struct {
	mood atomic.Uint32 // of the breaker; one by one while the topic rests
	good atomic.Int64  // the last time that something had succeeded, by the clock of Redis, in µs

	most   int             // places of the topic
	within time.Duration   // a handler is waited for
	places *schedule.Topic // in the schedule
	report func(outage)    // called with the lock held

	mu      sync.Mutex
	breaker *breaker.Breaker // nil: it is switched off
	wanted  int              // places, as the breaker last had it
	single  int              // places while it wants one, and 0 when it wants more: see passLocked
	beside  int              // places of handlers that ran already when it wanted more than one again
	rests   time.Time        // nothing is begun before
	resting bool             // as the schedule was last informed
	said    outage           // as it was last reported
	why     string           // the last message failed

	timer  *time.Timer // for what changes by itself; nil: it was not needed yet
	alarm  time.Time   // that it is set to; zero: it is not
	closed bool
}

var seed = maphash.MakeSeed()

// begin reports whether a message may be begun of a batch that was taken in a mood, and with which
// permit it ends.
func (g *gate) begin(taken breaker.Mood) (permit uint32, ok bool) {
	if g.mood.Load() < breaker.OneByOne { // nearly always
		return 0, true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if now.Before(g.rests) {
		return 0, false
	}
	if g.breaker == nil {
		return 0, true
	}
	if g.breaker.Probing() && taken != g.mood.Load() { // it was not taken as this probe
		return 0, false
	}
	permit, ok = g.breaker.Begin(now, g.within)
	g.settleLocked(now)
	if !ok && g.wanted == 1 && g.single > 1 { // the slot that asks has a place too many
		g.single--
		g.places.Allow(schedule.ByBreaker, g.single)
	}
	return permit, ok
}

// ended notes what the end of a handler is a sign of. If it had several messages, i is the first.
func (g *gate) ended(b *batch, i int, s sign) {
	permit := b.results[i].Permit
	if permit == 0 && (s == neither || s == success && g.mood.Load() == breaker.Calm) { // nearly always
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.breaker == nil {
		return
	}
	now := time.Now()
	switch s {
	case success:
		g.breaker.Succeeds(permit)
	case failure:
		d := &b.deliveries[i]
		known := !d.FirstFailure.IsZero() && d.FirstFailure.UnixMicro() < g.good.Load()
		g.breaker.Fails(now, permit, breaker.Message{Content: maphash.String(seed, d.Content), Retry: d.Attempt > 1, Known: known})
		if _, _, on := g.breaker.Outage(); on && g.said.since.IsZero() {
			g.why = b.texts.Of(b.results[i].Reason)
		}
	default:
		g.breaker.Returned(permit)
	}
	if permit != 0 {
		g.wanted = asBefore
	}
	g.settleLocked(now)
}

// succeeded notes that messages of a batch have: its fence is the clock of Redis when it was taken,
// by a turn that was sent at a time.
func (g *gate) succeeded(fence int64, sent time.Time) {
	at := fence + time.Since(sent).Microseconds()
	if at > g.good.Load()+1000 { // so it is seldom written
		g.good.Store(at)
	}
}

// rest lets nothing begin for a while.
func (g *gate) rest(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if until := now.Add(d); until.After(g.rests) {
		g.rests = until
	}
	g.settleLocked(now)
}

// atRest reports whether nothing is begun for a while, as a handler has wanted it.
func (g *gate) atRest() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.resting
}

// look does what has become due.
func (g *gate) look() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.alarm = time.Time{}
	if g.breaker != nil {
		g.breaker.Look(now)
	}
	g.settleLocked(now)
}

// settleLocked makes known what has changed.
func (g *gate) settleLocked(now time.Time) {
	m, next := breaker.Calm, time.Time{}
	if b := g.breaker; b != nil {
		m, next = b.Mood(), b.Next()
		g.passLocked(b.Places(now))
		g.reportLocked(now)
	}
	if resting := now.Before(g.rests); resting || g.resting {
		g.restLocked(resting)
		if resting {
			m = max(m, breaker.OneByOne)
			next = g.rests
		}
	}
	g.mood.Store(m)
	g.wakeLocked(now, next)
}

// passLocked informs the schedule of how many places the breaker wants. Handlers that run keep
// theirs. So where one message is begun at a time, the topic may have one place more than it
// uses; and one less again when a slot that has a place may not begin.
func (g *gate) passLocked(n int) {
	if n == g.wanted {
		return
	}
	switch g.wanted = n; {
	case n == 1:
		g.single = g.places.Used() + 1
		n = g.single
	case n > 1:
		if g.single > 0 {
			g.single, g.beside = 0, max(0, g.places.Used()-1)
		}
		n = min(n+g.beside, g.most)
	}
	g.places.Allow(schedule.ByBreaker, n)
}

// asBefore is a number of places that the breaker never wants, so that the schedule is informed again.
const asBefore = -1

// restLocked informs the schedule that the topic rests, or does not rest any more.
func (g *gate) restLocked(resting bool) {
	if resting == g.resting {
		return
	}
	g.resting = resting
	n := g.most
	if resting {
		n = 0
	}
	g.places.Allow(schedule.ByPushback, n)
}

// wakeLocked has look called at a time; not if that is zero or over: a probe that may begin waits
// for a message, however long that takes.
func (g *gate) wakeLocked(now, at time.Time) {
	if !at.After(now) || g.closed || !g.alarm.IsZero() && !at.Before(g.alarm) { // it is called before, and goes on from there
		return
	}
	g.alarm = at
	if g.timer == nil {
		g.timer = time.AfterFunc(at.Sub(now), g.look)
	} else {
		g.timer.Reset(at.Sub(now))
	}
}

// close ends what happens by itself.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.timer != nil {
		g.timer.Stop()
	}
}

// outage is one as people hear of it.
type outage struct {
	since  time.Time // zero: there is none
	over   time.Time // zero: it goes on
	probes int
	why    string // the last message failed
}

// reportLocked reports to people when an outage begins, and when it ends.
func (g *gate) reportLocked(now time.Time) {
	since, probes, on := g.breaker.Outage()
	switch {
	case on && g.said.since.IsZero():
		g.said = outage{since: since, why: g.why}
	case !on && !g.said.since.IsZero():
		g.said.over, g.said.probes = now, probes
	default:
		return
	}
	g.report(g.said)
	if !on {
		g.said = outage{}
	}
}
