package intake

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Waiting for fuller batches. A turn costs Redis as much as ten messages do, so fewer and fuller turns handle more. Pace
// has a slot whose batch was not full wait before its next turn: for the number of slots that have something to do,
// times the messages a second to the power of ¾, times 10.7 ns. That is 2.3 ms for 64 slots at 50,000 a second, nothing
// below 0.2 ms, and 20 ms at the most (22.5 ms with the step below). Why so: the number of turns a second then does not
// depend on the number of slots; and it falls as the rate rises, because the more messages there are, the less time
// Redis has for turns. A worker that has a quarter of the slots counts as if it had all of them and all of the messages:
// the gap is one for all workers, without a word between them. Gaps end in steps of an eighth of one, so that turns
// share a write.

// Pace is how long slots wait for that. Slots that wait for a place do not count, since the others keep theirs in the gap.
type Pace struct {
	follow func(perSec float64, slots int, share float64) time.Duration // is the gap; see Gap

	mu       sync.Mutex
	began    time.Time // the window
	messages int       // taken since then

	gap atomic.Int64 // ns; of the last window
}

const (
	paceWindow = 50 * time.Millisecond

	// The gap in ns is gapUnit, times the slots, times the messages a second to the power of gapPower: 2.3 ms for 64
	// slots at 50,000 a second. It was measured: so that is handled within 4 ms at p99, and 400,000 cost little.
	gapUnit, gapPower = 10.7, 0.75

	leastGap, mostGap = 200 * time.Microsecond, 20 * time.Millisecond

	// Gaps end together, in so many steps of one, so that turns share a write: so a slot waits
	// for an eighth more at the most, 22.5 ms.
	gapSteps = 8
)

// NewPace returns the pace of a worker whose gap follows, as [Gap] says, how many messages a second its slots take together,
// how many have something to do, and which share of all slots is its own.
func NewPace(follow func(perSec float64, slots int, share float64) time.Duration) *Pace {
	return &Pace{follow: follow}
}

// epoch is what the ends of gaps are counted from.
var epoch = time.Now().Add(-time.Hour)

// Took notes that turns took so many messages. busy is asked once in a window: how many slots
// have something to do, and which share of all slots is this worker's.
func (p *Pace) Took(messages int, now time.Time, busy func() (slots int, share float64)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages += messages
	if since := now.Sub(p.began); since > paceWindow {
		slots, share := busy()
		p.gap.Store(int64(p.follow(float64(p.messages)/since.Seconds(), slots, share)))
		p.began, p.messages = now, 0
	}
}

// Gap is that of slots that take so many messages a second together.
func Gap(perSec float64, slots int, share float64) time.Duration {
	if share <= 0 {
		return 0
	}
	gap := time.Duration(float64(slots) / share * math.Pow(perSec/share, gapPower) * gapUnit)
	if gap < leastGap {
		return 0
	}
	return min(gap, mostGap)
}

// Next is when a slot is to take its next turn, whose last one was sent at a time. Zero
// means at once.
func (p *Pace) Next(sent, now time.Time) time.Time {
	gap := time.Duration(p.gap.Load())
	if gap == 0 {
		return time.Time{}
	}
	at, step := sent.Add(gap), gap/gapSteps
	if at = at.Add(step - at.Sub(epoch)%step); at.After(now) {
		return at
	}
	return time.Time{}
}

// Filled reports whether a turn that might take so many messages took about as
// many, so that more wait very likely.
func Filled(took, most int) bool { return 2*took > most }
