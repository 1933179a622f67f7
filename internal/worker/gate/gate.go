package gate

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/internal/worker/breaker"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// Gate is what the batches of a topic pass before each message and after it.
type Gate struct {
	Config
	state atomic.Uint32 // of the breaker; one by one while the topic rests
	good  atomic.Int64  // the last time that something had succeeded, by the clock of Redis, in µs

	mu      sync.Mutex
	wanted  int       // places, as the breaker last had it
	single  int       // places while it wants one, and 0 when it wants more: see passLocked
	extra   int       // places of handlers that ran already when it wanted more than one again
	rests   time.Time // nothing is begun before
	resting bool      // as the schedule was last informed
	said    Outage    // as it was last reported
	why     string    // the last message failed

	timer  *time.Timer // for what changes by itself; nil: it was not needed yet
	alarm  time.Time   // that it is set to; zero: it is not
	closed bool
}

// Config of a gate.
type Config struct {
	Places Places        // of the topic
	Most   int           // places that it may have
	Within time.Duration // a handler is waited for

	// Breaker is that of the topic, and the gate's from now on; nil: it is switched off.
	Breaker *breaker.Breaker

	// Report is called with an outage when it begins, and when it is over. It must not block.
	Report func(Outage)
}

// Places are those of a topic in the schedule: a [schedule.Topic].
type Places interface {
	Used() int
	Allowed() int
	Allow(by schedule.Limiter, places int)
}

// New returns the gate of a topic. Until the first success a failure counts, since what is due first may be poison.
func New(c Config) *Gate {
	g := &Gate{Config: c, wanted: c.Most}
	if g.Breaker != nil {
		g.state.Store(uint32(breaker.Counting))
	}
	return g
}

// State is how the gate is now.
func (g *Gate) State() breaker.State { return breaker.State(g.state.Load()) }

var seed = maphash.MakeSeed()

// Begin reports whether a message may be begun of a batch that was taken in a state, and with which
// pass it ends.
func (g *Gate) Begin(taken breaker.State) (pass uint32, ok bool) {
	if g.State() < breaker.OneByOne { // nearly always
		return 0, true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if now.Before(g.rests) {
		return 0, false
	}
	if g.Breaker == nil {
		return 0, true
	}
	if g.Breaker.Probing() && taken != g.State() { // it was not taken as this probe
		return 0, false
	}
	pass, ok = g.Breaker.Begin(now, g.Within)
	g.settleLocked(now)
	if !ok && g.wanted == 1 && g.single > 1 { // the slot that asks has a place too many
		g.single--
		g.Places.Allow(schedule.ByBreaker, g.single)
	}
	return pass, ok
}

// Evidence is what the end of a handler shows about what the handlers of its topic need.
type Evidence uint8

const (
	NoEvidence Evidence = iota // it is about this message only, or about the worker
	Success
	Failure
)

// Message is one whose handler has ended.
type Message struct {
	Content      string
	Attempt      int
	FirstFailure time.Time // by the clock of Redis; zero: it had not failed before
}

// Ended notes what the end of a handler shows that began with a pass. If it had several messages, m is the first. For
// people why says what has failed; it is asked seldom.
func (g *Gate) Ended(pass uint32, e Evidence, m Message, why func() string) {
	if pass == 0 && (e == NoEvidence || e == Success && g.State() == breaker.Calm) { // nearly always
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Breaker == nil {
		return
	}
	now := time.Now()
	switch e {
	case Success:
		g.Breaker.Succeeds(pass)
	case Failure:
		known := !m.FirstFailure.IsZero() && m.FirstFailure.UnixMicro() < g.good.Load()
		g.Breaker.Fails(now, pass, breaker.Message{Content: maphash.String(seed, m.Content), Retry: m.Attempt > 1, Known: known})
		if _, _, on := g.Breaker.Outage(); on && g.said.Since.IsZero() {
			g.why = why()
		}
	default:
		g.Breaker.Returned(pass)
	}
	if pass != 0 {
		g.wanted = asBefore
	}
	g.settleLocked(now)
}

// Succeeded notes that messages of a batch have: its fence is the clock of Redis when it was taken,
// by a turn that was sent at a time.
func (g *Gate) Succeeded(fence int64, sent time.Time) {
	at := fence + time.Since(sent).Microseconds()
	if at > g.good.Load()+1000 { // so it is seldom written
		g.good.Store(at)
	}
}

// Rest lets nothing begin for a while, as a handler wants it.
func (g *Gate) Rest(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if until := now.Add(d); until.After(g.rests) {
		g.rests = until
	}
	g.settleLocked(now)
}

// Handlers is how many of the topic may run at once. Between two probes the schedule allows none.
func (g *Gate) Handlers() int {
	n := g.Places.Allowed()
	if n == 0 && !g.atRest() {
		return 1
	}
	return n
}

// atRest reports whether nothing is begun for a while, as a handler has wanted it.
func (g *Gate) atRest() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.resting
}

// look does what has become due.
func (g *Gate) look() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.alarm = time.Time{}
	if g.Breaker != nil {
		g.Breaker.Look(now)
	}
	g.settleLocked(now)
}

// settleLocked makes known what has changed.
func (g *Gate) settleLocked(now time.Time) {
	state, next := breaker.Calm, time.Time{}
	if b := g.Breaker; b != nil {
		state, next = b.State(), b.Next()
		g.passLocked(b.Places(now))
		g.reportLocked(now)
	}
	if resting := now.Before(g.rests); resting || g.resting {
		g.restLocked(resting)
		if resting {
			state = max(state, breaker.OneByOne)
			next = g.rests
		}
	}
	g.state.Store(uint32(state))
	g.wakeLocked(now, next)
}

// passLocked informs the schedule of how many places the breaker wants. Handlers that run keep
// theirs. So where one message is begun at a time, the topic may have one place more than it
// uses; and one less again when a slot that has a place may not begin.
func (g *Gate) passLocked(n int) {
	if n == g.wanted {
		return
	}
	switch g.wanted = n; {
	case n == 1:
		g.single = g.Places.Used() + 1
		n = g.single
	case n > 1:
		if g.single > 0 {
			g.single, g.extra = 0, max(0, g.Places.Used()-1)
		}
		n = min(n+g.extra, g.Most)
	}
	g.Places.Allow(schedule.ByBreaker, n)
}

// asBefore is a number of places that the breaker never wants, so that the schedule is informed again.
const asBefore = -1

// restLocked informs the schedule that the topic rests, or does not rest any more.
func (g *Gate) restLocked(resting bool) {
	if resting == g.resting {
		return
	}
	g.resting = resting
	n := g.Most
	if resting {
		n = 0
	}
	g.Places.Allow(schedule.ByPushback, n)
}

// wakeLocked has look called at a time; not if that is zero or over: a probe that may begin waits
// for a message, however long that takes.
func (g *Gate) wakeLocked(now, at time.Time) {
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

// Close ends what happens by itself.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.timer != nil {
		g.timer.Stop()
	}
}

// reportLocked reports to people when an outage begins, and when it ends.
func (g *Gate) reportLocked(now time.Time) {
	since, probes, on := g.Breaker.Outage()
	switch {
	case on && g.said.Since.IsZero():
		g.said = Outage{Since: since, Why: g.why}
	case !on && !g.said.Since.IsZero():
		g.said.Over, g.said.Probes = now, probes
	default:
		return
	}
	g.Report(g.said)
	if !on {
		g.said = Outage{}
	}
}
