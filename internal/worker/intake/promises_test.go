package intake

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("A worker whose slot has been `BUSY` for 300 ms", 300*time.Millisecond, askAfter)
	protocol.Says("asks the holder, and again every second.", time.Second, askEvery)
	protocol.Says("then less than 1 s, and", time.Second, asked().Truncate(time.Second)+time.Second)
	protocol.Says("is looked at again after 50 ms, then less often", 50*time.Millisecond, pauseAfter(0))
	protocol.Says("then less often, up to 500 ms.", 500*time.Millisecond, pauseAfter(100))
	protocol.Says("so that it takes a fuller batch | 22.5 ms after its last turn", 22500*time.Microsecond, longestGap())
}

// pauseAfter is how long a busy slot sleeps that has looked so many times before.
func pauseAfter(looks int) time.Duration {
	var b Busy
	for range looks {
		b.Still(time.Now())
	}
	_, _, pause := b.Still(time.Now())
	return pause
}

// asked is when the holder of a busy slot is asked, at the latest: the slot may have been looked at just before it was
// busy for long enough.
func asked() time.Duration {
	at := time.Duration(0)
	for looks := 0; at < askAfter; looks++ {
		at += pauseAfter(looks)
	}
	return at
}

// longestGap is how long a slot waits at the most for a fuller batch, however many there are and whenever its last turn was.
func longestGap() (longest time.Duration) {
	p := NewPace(Gap)
	p.gap.Store(int64(Gap(1e9, 65536, 1)))
	for at := range 10_000 {
		sent := epoch.Add(time.Hour + time.Duration(at)*time.Microsecond)
		longest = max(longest, p.Next(sent, sent).Sub(sent))
	}
	return longest
}
