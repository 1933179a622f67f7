package consumer

import (
	"math/rand/v2"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

// Backoff returns how long a message waits for its retry 1, 2, … 16.
type Backoff func(retry int) time.Duration

// Exponential doubles the waiting from base up to most, and draws each from a
// fifth less to a fifth more, so that what failed together does not come back
// together.
func Exponential(base, most time.Duration) Backoff {
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
func Schedule(d ...time.Duration) Backoff {
	return func(retry int) time.Duration {
		if len(d) == 0 {
			return 0
		}
		return d[min(retry, len(d))-1]
	}
}

const backoffPanicked = "Backoff panicked; 30s is taken instead"

// askBackoff asks a Backoff, which is the user's and may panic.
func askBackoff(ask Backoff, retry int, panicked func(p any)) (d time.Duration) {
	defer func() {
		if p := recover(); p != nil {
			d = 30 * time.Second
			panicked(p)
		}
	}()
	return delay(ask(retry))
}

// delay keeps a back-off within what a turn takes; one of 0 would send the
// message back to the store, which only literal topics do.
func delay(d time.Duration) time.Duration {
	return min(max(d, time.Millisecond), limits.Span)
}
