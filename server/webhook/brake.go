package webhook

import (
	"sync"
	"time"
)

// brake leaves a target alone for a while if it can take nothing, whatever the message. It reacts to
// two things: no connection can be made, or the target asks for patience again and again. If the target
// refuses what it gets, that is for the worker's breaker.
type brake struct {
	mu      sync.Mutex
	until   time.Time     // nothing is sent before
	pause   time.Duration // after the last connection that could not be made; 0: the target can be reached
	since   time.Time     // it cannot be reached
	patient int           // how many times in a row the target has asked for patience
}

const (
	firstPause, lastPause = time.Second, 30 * time.Second // while the target cannot be reached
	patientAfter          = 4                             // so many times in a row count for all messages
)

// rest is how long nothing is sent; 0: something may be.
func (b *brake) rest(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, b.until.Sub(now))
}

// unreachable notes that no connection could be made, and returns how long nothing is sent, and whether
// that is new. Many requests that fail at the same time make the pause longer only once.
func (b *brake) unreachable(now time.Time) (rest time.Duration, isNew bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if isNew = b.pause == 0; isNew {
		b.since = now
	}
	if isNew || !now.Before(b.until) {
		b.pause = min(max(firstPause, 2*b.pause), lastPause)
		b.waitLocked(now.Add(b.pause))
	}
	return b.until.Sub(now), isNew
}

// reached notes that there is an answer, and returns how long there had been none; 0: not at all.
func (b *brake) reached(now time.Time) (away time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pause > 0 {
		away = now.Sub(b.since)
		b.pause = 0
	}
	return away
}

// asked notes that the target asks for patience. A message or two may be too many for something
// behind the target, while it takes all others; but when none is taken between, nothing is sent.
func (b *brake) asked(now time.Time, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.patient++; b.patient >= patientAfter {
		b.waitLocked(now.Add(d))
	}
}

// waitLocked sends nothing before a time.
func (b *brake) waitLocked(until time.Time) {
	if until.After(b.until) {
		b.until = until
	}
}

// answered notes an answer that does not ask for patience.
func (b *brake) answered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.patient = 0
}
