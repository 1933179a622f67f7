package breaker

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("after what they need is back: 30 s, and then", 30*time.Second, longestProbePause())
	protocol.Says("If more than 72 new messages that always fail", 72, failuresUntilItProbes())
	reference := promises.Of(t, "docs/REFERENCE.md")
	reference.Says("Work resumes 30 s after the database is back", 30*time.Second, longestProbePause())
	reference.Says("When 72 different messages fail in a row,", 72, failuresUntilItProbes())
	reference.Says("or 40 in more than 5 s, the worker", 5*time.Second, soonAfter)
}

// failuresUntilItProbes is how many different messages must fail in a row.
func failuresUntilItProbes() (n int) {
	b := New(64, LongestPause)
	for ; !b.Probing(); n++ {
		b.Fails(time.Unix(1e9, 0), 0, Message{Content: uint64(n)})
	}
	return n
}

// longestProbePause is the longest time between the end of a probe that has failed and the next one.
func longestProbePause() (longest time.Duration) {
	b, now := New(64, LongestPause), time.Unix(1e9, 0)
	for n := range uint64(200) {
		pass, _ := b.Begin(now, time.Minute)
		b.Fails(now, pass, Message{Content: n})
		if b.Probing() {
			longest = max(longest, b.probeAt.Sub(now))
			now = b.probeAt
		}
	}
	return longest
}
