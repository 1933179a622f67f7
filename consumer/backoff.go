package consumer

import (
	"math/rand/v2"
	"time"
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
