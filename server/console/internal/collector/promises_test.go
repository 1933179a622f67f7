package collector

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	doc := promises.Of(t, "docs/CONSOLE.md")
	doc.Says("but never more often than every two seconds.", 2*time.Second, readAgainAfter(time.Nanosecond, 1))
	doc.Says("one that takes a server 10 ms is read every", 10*time.Millisecond, readAgainAfter(10*time.Millisecond, 8)/8/124)
	doc.Says("than its reading takes, 15 s at most.", 15*time.Second, readWithin)
}

// readAgainAfter is how long a subject rests whose reading has cost a server so much, if so many are wanted.
func readAgainAfter(cost time.Duration, wanted int) time.Duration {
	now := time.Unix(1e9, 0)
	s := subject{got: Reading{tried: now}, owes: cost}
	return s.due(wanted).Sub(now)
}
