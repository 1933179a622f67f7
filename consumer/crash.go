package consumer

import (
	"sync"
	"time"
)

// crash is how long messages of a worker that is gone wait for their retry here, as
// the topic's Backoff says. Every turn names it, and hardly any needs it. So Backoff,
// which is the user's and may take its time, is asked when another worker's batch was
// seen, and never by a turner.
type crash struct {
	mu     sync.Mutex
	asking chan struct{} // closed with the answer; nil: nobody asks
	asked  time.Time     // last
	last   time.Duration
}

const (
	// unknownCrash is the delay while Backoff was not asked or has not answered: a
	// batch that nobody has seen before is taken over by the turn that meets it.
	unknownCrash = time.Second

	// crashHolds is how long an answer is good, and how long it is waited for.
	crashHolds = time.Second
)

// delay is what the next turn names.
func (x *crash) delay() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.last == 0 {
		return unknownCrash
	}
	return x.last
}

// reckon asks the topic's Backoff, unless it was asked a moment ago. What it returns is
// closed when the answer is there.
func (c *Consumer) reckon(t *topic) <-chan struct{} {
	x := &t.crash
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.asking != nil {
		return x.asking
	}
	answered := make(chan struct{})
	if t.Literal || x.last > 0 && time.Since(x.asked) < crashHolds {
		close(answered)
		return answered
	}
	x.asking = answered
	c.watching.Go(func() {
		d := c.backoff(t, 1)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.last, x.asked, x.asking = d, time.Now(), nil
		close(answered)
	})
	return answered
}

// reckoned is reckon, and waits for the answer, though not for long.
func (c *Consumer) reckoned(t *topic) {
	timer := time.NewTimer(crashHolds)
	defer timer.Stop()
	select {
	case <-c.reckon(t):
	case <-timer.C:
	case <-c.background.Done():
	}
}
