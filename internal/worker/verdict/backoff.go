package verdict

import (
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
