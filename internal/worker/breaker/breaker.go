// Package breaker notices that what the handlers of a topic need is away: then every message fails.
//
// It is plain arithmetic, and says how many handlers may run: it reads no clock, starts no goroutine, and
// knows neither Redis nor the schedule. See package gate.
//
// # A breaker counts contents, not failures
//
// A few poisonous messages fail as often as they like, and trip nothing. Nor does what had failed before others
// succeeded: each batch with a success notes the clock of Redis (Gate.Succeeded), and a retry whose FirstFailure is older
// says nothing. An outage begins with messages that had not failed.
//
// # Half an outage is no whole one
//
// Where 1 of 20 succeeds, 8 failures in a row come again and again. So a late success makes four times as many bearable
// (breaker.bears). To see 1 of 100 takes 300 tries; an hour's outage may cost 200.
//
// # First one by one, then probes
//
// With 64 handlers, 63 run when the first failures come. They decide: nothing else is begun until one of them succeeds
// or all have failed. Only then the pauses begin. So a false alarm costs the time of a handler, and an outage the same
// 63. A handler that runs for an hour must not prevent probes, so there is one place beside those in use
// (Gate.passLocked).
//
// # Every second probe looks behind the first messages
//
// Poison that was sent together stands together, before everything that came later, and one by one it would take hours.
// So such a probe takes one first delivery alone: from behind 255 others or from the end, or in a place that is drawn,
// where poison stands at the end, too. The next one wants a retry: where each message fails once, only retries can
// succeed. After a first delivery one in eight takes another, and which one is drawn (nextWay), because slots take
// turns, too. A turn is asked in a state of the gate, and what was taken in another state is no probe: it goes back
// (Gate.Begin). A retry of a message that had failed before others succeeded says nothing, and 100 of these cost a probe
// only 0.1 s. A slot that has nothing but retries leaves the next probe a first delivery: else the one slot with good
// messages might always be asked for a retry, 30 s apart.
//
// # What an alarm hands back keeps its time
//
// A batch that goes back with the second it was taken in stands behind all that was due before, so the probes at the end
// would meet the poison again: good messages waited for minutes between the two. So a turn asks for due times while the
// gate is not calm, and until the first success of a worker. While all is well it does not, as that costs Redis a
// quarter more. So batches in hand when a calm topic begins to fail can still go to the end; that is what drawn places
// are for.
//
// # A pass, not only a place
//
// The schedule counts places, and a batch that was taken just before has one. So while messages are begun one by one
// each has a pass of the breaker; what has none goes back, unspent. An end without a pass, or with an old one, does
// not end the waiting for a probe.
package breaker

import (
	"math/rand/v2"
	"time"
)

// Breaker is that of a topic in one worker. One goroutine at a time may use it.
//
// It counts what has failed since the last success, if that was at least 8 different contents.
//
//   - From the 8th failure on, one message is begun at a time, and those that run decide: a success
//     ends it at once. Where fewer than 64 may run, it is so much later that as many have been tried.
//   - From the 72nd on, or the 40th where that takes longer than 5 s, only probes are begun, if at least 20
//     contents have failed: one message after 0.1 s, the next 0.2 s after that has failed, and so on up to
//     30 s. If one fails 2 s later or more, it is an outage, which people hear of.
//   - A success ends that. Two handlers may run then, and twice as many after each success.
//
// In half an outage some succeed, and between two of these many may fail. So it bears more after each
// time that a success came so late: see Breaker.bears.
//
// What comes first may be poison, of which much was sent together; and what is new may fail
// once, where a retry succeeds. So probes are chosen in three ways: see nextWay.
//
// So an hour's outage costs less than 200 attempts, if 64 handlers fail in no time: 8 messages,
// 63 that run at that moment, one or two until they have failed, and 126 probes. Beside that come up to
// 100 retries of messages that had failed before others succeeded: see excuses. If it begins as half an
// outage, it costs 700 more.
//
// Where up to 255 messages of poison stand before good ones in their slot, the first probe meets a
// good one, and after it many of the poison are gone: so they wait some 0.1 s.
type Breaker struct {
	most    int           // places of the topic
	longest time.Duration // pause

	tries  int                 // that have failed since the last success
	failed map[uint64]struct{} // the contents of these, by their hash, as far as it matters how many
	eighth time.Time           // when the 8th of them failed
	last   time.Time           // when one did
	bears  int                 // so many tries before messages are begun one by one: 8, 32, 128, 512
	streak int                 // successes since the last failure
	open   int                 // places while messages are not begun one by one

	since   time.Time // when probing began; zero: it has not
	outage  bool      // people hear of it
	probes  int       // begun since
	way     State     // of the next probe
	tried   State     // of the last one
	excused int       // probes that said nothing
	pause   time.Duration
	probeAt time.Time

	// Where one message is begun at a time it has a pass.
	passes uint32 // so far
	out    uint32 // the one that a handler has; 0: none
	giveUp time.Time
}

const (
	carefulAfter, probeAfter   = 8, 72 // tries, where it bears no more than at first
	fewContents, manyContents  = 8, 20 // without so many different ones it is not careful, or does not probe
	probeSoon, soonAfter       = 40, 5 * time.Second
	bearsMore, bearsMost       = 4, 512
	triesMost                  = 256             // one by one
	reassuring, forgottenAfter = 20, time.Minute // successes in a row; a time without a failure
	firstPause, LongestPause   = 100 * time.Millisecond, 30 * time.Second
	pauseGrowth, excuses       = 2, 100
	outageAfter                = 2 * time.Second
)

// State is how a breaker is.
type State uint32

// The states. In those of probes, too, a message needs a pass.
const (
	Calm       State = iota // a success changes nothing
	Counting                // it may
	OneByOne                // a message needs a pass
	ProbeRetry              // the next probe is a retry, if one is due
	ProbeLast               // it is a first delivery: the last of those that are due
	ProbeDrawn              // one of these, in a place that is drawn
)

// State is how it is now.
func (b *Breaker) State() State {
	switch {
	case b.Probing():
		return b.way
	case b.oneByOne():
		return OneByOne
	case b.tries == 0 && b.open == b.most && b.bears == carefulAfter:
		return Calm
	}
	return Counting
}

// nextWay is how the next probe is chosen: among the first deliveries and among the retries in
// turn. Now and then it is a first delivery twice, which is drawn: else a slot whose turn it is each
// second time would always see the same way.
func nextWay(last State) State {
	switch {
	case last != ProbeRetry && rand.IntN(8) > 0:
		return ProbeRetry
	case rand.IntN(2) == 0:
		return ProbeLast
	}
	return ProbeDrawn
}

// New returns the breaker of a topic with so many places, and the longest pause between two probes.
func New(most int, longest time.Duration) *Breaker {
	return &Breaker{most: most, longest: longest, failed: map[uint64]struct{}{}, bears: carefulAfter, open: most}
}

// Probing reports whether only probes are begun.
func (b *Breaker) Probing() bool { return !b.since.IsZero() }

// oneByOne reports whether a message needs a pass.
func (b *Breaker) oneByOne() bool {
	return b.Probing() || len(b.failed) >= fewContents && b.tries >= b.bears+max(0, probeAfter-carefulAfter-b.most)
}

// Outage is since when all fails that was tried, and how many probes there were; on reports whether that has lasted
// for so long that people hear of it.
func (b *Breaker) Outage() (since time.Time, probes int, on bool) { return b.since, b.probes, b.outage }

// Places is how many handlers may run; 1 if messages are begun one by one.
func (b *Breaker) Places(now time.Time) int {
	switch {
	case b.Probing() && b.out == 0 && now.Before(b.probeAt):
		return 0
	case b.oneByOne():
		return 1
	}
	return b.open
}

// Next is when Look is to be called, if nothing happens before; zero: never.
func (b *Breaker) Next() time.Time {
	switch {
	case b.out != 0:
		return b.giveUp
	case b.Probing():
		return b.probeAt
	}
	return time.Time{}
}

// Begin reports whether a message may be begun. Its end goes with the pass, which is 0 if it
// needs none. A handler is not waited for longer than some time.
func (b *Breaker) Begin(now time.Time, within time.Duration) (pass uint32, ok bool) {
	switch {
	case !b.oneByOne():
		return 0, true
	case b.out != 0 || b.Probing() && now.Before(b.probeAt):
		return 0, false
	}
	b.passes = max(1, b.passes+1)
	b.out, b.giveUp = b.passes, now.Add(within)
	if b.Probing() {
		b.probes++
		b.tried, b.way = b.way, nextWay(b.way)
	}
	return b.out, true
}

// Returned notes that a handler with a pass has ended, and reports whether that was the one
// waited for.
func (b *Breaker) Returned(pass uint32) bool {
	mine := pass != 0 && pass == b.out
	if mine {
		b.out = 0
	}
	return mine
}

// Message is one whose handler has failed.
type Message struct {
	Content uint64 // its hash
	Retry   bool
	Known   bool // it had failed before the last success
}

// Fails notes that the handler of a message has failed. One that is known to fail beside others
// that succeed says nothing about these, so the next probe comes soon, unless that has been so very
// often: an outage is not to spend what such messages have left. A probe that was to be a first delivery,
// and was a retry because its slot has no other, is made up for in the next slot.
func (b *Breaker) Fails(now time.Time, pass uint32, m Message) {
	mine := b.Returned(pass)
	if !m.Known && !b.Probing() {
		b.count(now, m.Content)
	}
	if b.Probing() && mine && m.Retry && b.tried != ProbeRetry {
		b.way = b.tried
	}
	switch {
	case !b.Probing() && b.inVain(now):
		b.since, b.probes, b.excused, b.way = now, 0, 0, ProbeLast
		b.pause, b.probeAt = firstPause, now.Add(firstPause)
	case b.Probing() && mine && m.Known && b.excused < excuses:
		b.excused++
		b.probeAt = now.Add(firstPause)
	case b.Probing() && mine:
		b.probeFailed(now)
	}
}

// count notes that a content has failed. Half an outage that is long over is forgotten.
func (b *Breaker) count(now time.Time, content uint64) {
	if now.Sub(b.last) > forgottenAfter {
		b.bears = carefulAfter
	}
	b.last, b.streak = now, 0
	b.tries++
	if n := len(b.failed); n < manyContents {
		b.failed[content] = struct{}{}
		if n < fewContents && len(b.failed) == fewContents {
			b.eighth = now
		}
	}
}

// inVain reports whether so many have failed that only probes are of use. The more it bears, the more
// are tried one by one before.
func (b *Breaker) inVain(now time.Time) bool {
	beyond := b.tries - b.bears
	return len(b.failed) >= manyContents && (beyond >= min(b.bears*(probeAfter/carefulAfter-1), triesMost) ||
		beyond >= probeSoon-carefulAfter && now.Sub(b.eighth) >= soonAfter)
}

func (b *Breaker) probeFailed(now time.Time) {
	b.outage = b.outage || now.Sub(b.since) >= outageAfter
	b.pause = min(pauseGrowth*b.pause, b.longest)
	b.probeAt = now.Add(b.pause)
}

// Succeeds notes that a handler has succeeded.
func (b *Breaker) Succeeds(pass uint32) {
	b.Returned(pass)
	if b.streak++; b.tries >= b.bears && len(b.failed) >= fewContents {
		b.bears = min(bearsMore*b.bears, bearsMost)
	} else if b.streak >= reassuring {
		b.bears = carefulAfter
	}
	b.tries = 0
	clear(b.failed)
	if b.Probing() {
		b.since, b.outage, b.open = time.Time{}, false, 1
	}
	b.open = min(2*b.open, b.most) // only a topic that may not have more has one
}

// Look notes that a time has passed: see Next.
func (b *Breaker) Look(now time.Time) {
	if b.out == 0 || now.Before(b.giveUp) {
		return
	}
	if b.out = 0; b.Probing() {
		b.probeFailed(now)
	}
}
