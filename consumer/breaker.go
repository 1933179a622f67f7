package consumer

import (
	"math/rand/v2"
	"slices"
	"time"
)

// breaker notices that what the handlers of a topic need is away: then every message fails. It
// is plain arithmetic, and says how many handlers may run; gate goes by it.
//
// It counts the different contents that have failed since the last success.
//
//   - From the 8th on, one message is begun at a time, and those that run decide: a success
//     ends it at once.
//   - From the 20th on only probes are begun: one message after 0.1 s, the next 0.2 s after that
//     has failed, and so on up to 30 s. If one fails 2 s later or more, it is an outage, which
//     people hear of.
//   - A success ends that. Two handlers may run then, and one more with each success.
//
// What comes first may be poison, of which much was sent together; and what is new may fail
// once, where a retry succeeds. So probes are chosen in three ways: see nextWay.
//
// So an hour's outage costs less than 220 attempts, if 64 handlers fail in no time: 8 messages,
// 63 that run at that moment, one or two until they have failed, 126 probes, and up to 20 more that
// did not make the pause longer: see spares. Beside that come up to 100 retries of messages that had
// failed before others succeeded: see excuses.
//
// Where up to 255 messages of poison stand before good ones in their slot, the first probe meets a
// good one, and 20 of the poison are gone after each: so they wait 0.1 s for each 20.
type breaker struct {
	most    int           // places of the topic
	longest time.Duration // pause

	failed []uint64 // different contents, by their hash, since the last success
	open   int      // places while messages are not begun one by one

	since   time.Time // when probing began; zero: it has not
	outage  bool      // people hear of it
	probes  int       // begun since
	way     mood      // of the next probe
	tried   mood      // of the last one
	spared  int       // probes that did not make the pause longer
	excused int       // probes that said nothing
	pause   time.Duration
	probeAt time.Time

	// Where one message is begun at a time it has a permit.
	permits uint32 // so far
	out     uint32 // the one that a handler has; 0: none
	giveUp  time.Time
}

const (
	carefulAfter, probeAfter = 8, 20 // different contents
	firstPause, longestPause = 100 * time.Millisecond, 30 * time.Second
	pauseGrowth              = 2
	spares, excuses          = 20, 100
	outageAfter              = 2 * time.Second
)

// nextWay is how the next probe is chosen: among the first deliveries and among the retries in
// turn. Now and then it is a first delivery twice, which is drawn: else a slot whose turn it is each
// second time would always see the same way.
func nextWay(last mood) mood {
	switch {
	case last != probeRetry && rand.IntN(8) > 0:
		return probeRetry
	case rand.IntN(2) == 0:
		return probeLast
	}
	return probeDrawn
}

func newBreaker(most int, longest time.Duration) *breaker {
	return &breaker{most: most, longest: longest, open: most}
}

// probing reports whether only probes are begun.
func (b *breaker) probing() bool { return !b.since.IsZero() }

// oneByOne reports whether a message needs a permit.
func (b *breaker) oneByOne() bool { return b.probing() || len(b.failed) >= carefulAfter }

// calm reports whether a success would change nothing.
func (b *breaker) calm() bool { return len(b.failed) == 0 && b.open == b.most && !b.probing() }

// places is how many handlers may run; 1 if messages are begun one by one.
func (b *breaker) places(now time.Time) int {
	switch {
	case b.probing() && b.out == 0 && now.Before(b.probeAt):
		return 0
	case b.oneByOne():
		return 1
	}
	return b.open
}

// next is when look is to be called, if nothing happens before; zero: never.
func (b *breaker) next() time.Time {
	switch {
	case b.out != 0:
		return b.giveUp
	case b.probing():
		return b.probeAt
	}
	return time.Time{}
}

// begin reports whether a message may be begun. Its end goes with the permit, which is 0 if it
// needs none. A handler is not waited for longer than some time.
func (b *breaker) begin(now time.Time, within time.Duration) (permit uint32, ok bool) {
	switch {
	case !b.oneByOne():
		return 0, true
	case b.out != 0 || b.probing() && now.Before(b.probeAt):
		return 0, false
	}
	b.permits = max(1, b.permits+1)
	b.out, b.giveUp = b.permits, now.Add(within)
	if b.probing() {
		b.probes++
		b.tried, b.way = b.way, nextWay(b.way)
	}
	return b.out, true
}

// returned notes that a handler with a permit has ended, and reports whether that was the one
// waited for.
func (b *breaker) returned(permit uint32) bool {
	if permit == 0 || permit != b.out {
		return false
	}
	b.out = 0
	return true
}

// failedMessage is one whose handler has failed.
type failedMessage struct {
	content uint64 // its hash
	retry   bool
	known   bool // it had failed before the last success
}

// fails notes that the handler of a message has failed. One that is known to fail beside others
// that succeed says nothing about these, so the next probe comes soon, unless that has been so very
// often: an outage is not to spend what such messages have left. Other retries that fail say little:
// the first ones do not make the pause between probes longer. A probe that was to be a first delivery,
// and was a retry because its slot has no other, is made up for in the next slot.
func (b *breaker) fails(now time.Time, permit uint32, m failedMessage) {
	mine := b.returned(permit)
	if !m.known && len(b.failed) < probeAfter && !slices.Contains(b.failed, m.content) {
		b.failed = append(b.failed, m.content)
	}
	if b.probing() && mine && m.retry && b.tried != probeRetry {
		b.way = b.tried
	}
	switch {
	case !b.probing() && len(b.failed) >= probeAfter:
		b.since, b.probes, b.spared, b.excused, b.way = now, 0, 0, 0, probeLast
		b.pause, b.probeAt = firstPause, now.Add(firstPause)
	case b.probing() && mine && m.known && b.excused < excuses:
		b.excused++
		b.probeAt = now.Add(firstPause)
	case b.probing() && mine && m.retry && b.spared < spares:
		b.spared++
		b.probeAt = now.Add(b.pause)
	case b.probing() && mine:
		b.probeFailed(now)
	}
}

func (b *breaker) probeFailed(now time.Time) {
	b.outage = b.outage || now.Sub(b.since) >= outageAfter
	b.pause = min(pauseGrowth*b.pause, b.longest)
	b.probeAt = now.Add(b.pause)
}

// succeeds notes that a handler has succeeded.
func (b *breaker) succeeds(permit uint32) {
	b.returned(permit)
	b.failed = b.failed[:0]
	if b.probing() {
		b.since, b.outage, b.open = time.Time{}, false, 1
	}
	b.open = min(b.open+1, b.most) // only a topic that may not have more has one
}

// look notes that a time has passed: see next.
func (b *breaker) look(now time.Time) {
	if b.out == 0 || now.Before(b.giveUp) {
		return
	}
	b.out = 0
	if b.probing() {
		b.probeFailed(now)
	}
}
