package takeoverdelay

import (
	"sync"
	"time"
)

// delay is how long messages of a worker that died wait for their retry here, as
// the topic's Backoff says. Every turn names it, and hardly any needs it. So Backoff,
// which is the user's and may take its time, is asked when another worker's batch is about
// to be taken over, and never by a writer.
type delay struct {
	mu     sync.Mutex
	asking chan struct{} // closed with the answer; nil: not asked
	asked  time.Time     // last
	last   time.Duration
}

const (
	// unknownDelay is the delay while Backoff was not asked or has not answered: a
	// batch that was not seen before is taken over by the turn that meets it.
	unknownDelay = time.Second

	// delayHolds is how long an answer is good, and how long it is waited for.
	delayHolds = time.Second
)

// Delay is what the next turn names.
func (x *delay) Delay() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.last == 0 {
		return unknownDelay
	}
	return x.last
}

// Pending reports whether Backoff has not returned.
func (x *delay) Pending() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.asking != nil
}

// ask asks for the delay in a goroutine that begin begins, unless that was done a moment ago. What
// it returns is closed when the answer is there.
func (x *delay) ask(begin func(func()), backoff func() time.Duration) <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.asking != nil {
		return x.asking
	}
	answered := make(chan struct{})
	if x.last > 0 && time.Since(x.asked) < delayHolds {
		close(answered)
		return answered
	}
	x.asking = answered
	begin(func() {
		d := backoff()
		x.mu.Lock()
		defer x.mu.Unlock()
		x.last, x.asked, x.asking = d, time.Now(), nil
		close(answered)
	})
	return answered
}
