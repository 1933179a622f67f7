package consumer

import (
	"sync"
	"time"
)

// pace keeps the cost of turns low when there are many of them: a turn costs
// Redis about ten times what a message in a batch does, so waiting a little
// for fuller batches is cheaper than asking at once. At a few thousand turns a
// second and below there is no waiting at all.
type pace struct {
	mu     sync.Mutex
	began  time.Time
	turns  int     // that came back with room left, since began
	perSec float64 // in the last window
}

const (
	paceWindow = 50 * time.Millisecond
	quietTurns = 3_000  // a second: nothing waits
	busyTurns  = 10_000 // a second: each write waits for its share

	turnShare    = 100 * time.Microsecond // of a taker's time
	messageShare = 1500 * time.Nanosecond

	// Before the next turn of a slot whose batch was not full. With more than a few
	// messages in a batch the slot is busy, and waiting longer saves half the turns.
	smallGap, busyGap = time.Millisecond, 2 * time.Millisecond
	busyBatch         = 16
)

// wait waits after a write with some turns that came back with room left, since
// for the others there is nothing to wait for, and took messages messages.
func (p *pace) wait(turns, messages int, took time.Duration) {
	p.mu.Lock()
	p.turns += turns
	if since := time.Since(p.began); since > paceWindow {
		p.perSec = float64(p.turns) / since.Seconds()
		p.turns, p.began = 0, time.Now()
	}
	busy := p.perSec > busyTurns
	p.mu.Unlock()
	if !busy {
		return
	}
	if d := time.Duration(turns)*turnShare - time.Duration(messages)*messageShare - took; d > 0 {
		time.Sleep(d)
	}
}

// filled reports whether a turn that might take so many messages took about as
// many, so that more wait very likely.
func filled(took, most int) bool { return 2*took > most }

// gap is how long a slot waits before its next turn, after a batch of some
// messages.
func (p *pace) gap(messages int, full bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case full || p.perSec < quietTurns:
		return 0
	case messages >= busyBatch:
		return busyGap
	}
	return smallGap
}
