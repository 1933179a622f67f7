package verdict

import (
	"math/rand/v2"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

// Backoff returns how long a message waits for its retry 1, 2, … 16. It is the user's.
type Backoff func(retry int) time.Duration

// BackoffPanicked is the line of the log about one that panicked.
const BackoffPanicked = "Backoff panicked; 30s is taken instead"

// Ask asks a Backoff, which may panic.
func (ask Backoff) Ask(retry int, panicked func(p any)) (d time.Duration) {
	defer func() {
		if p := recover(); p != nil {
			d = 30 * time.Second
			panicked(p)
		}
	}()
	return within(ask(retry))
}

// within keeps a back-off within what a turn takes; one of 0 would send the message back to the store, which only
// literal topics do.
func within(d time.Duration) time.Duration { return min(max(d, time.Millisecond), limits.Span) }

// Exponential doubles the waiting from base up to most, and draws each from a
// fifth less to a fifth more, so that what failed together does not come back
// together.
func Exponential(base, most time.Duration) func(retry int) time.Duration {
	return func(retry int) time.Duration {
		d := min(base, most)
		for i := 1; i < retry && d < most; i++ {
			d = min(d, most/2) * 2
		}
		if d < 5 {
			return d
		}
		return d - d/5 + rand.N(2*(d/5))
	}
}

// Schedule waits d[0] for the first retry, d[1] for the second, and the last
// of them for all others.
func Schedule(d ...time.Duration) func(retry int) time.Duration {
	return func(retry int) time.Duration {
		if len(d) == 0 {
			return 0
		}
		return d[min(retry, len(d))-1]
	}
}
