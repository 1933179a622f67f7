package consumer

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	usual := Config{}.withDefaults()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("A worker whose slot has been `BUSY` for 300 ms", 300*time.Millisecond, askAfter)
	protocol.Says("asks the holder, and again every second.", time.Second, askEvery)
	protocol.Says("is looked at again after 50 ms, then less often", 50*time.Millisecond, busyPause(0))
	protocol.Says("then less often, up to 500 ms.", 500*time.Millisecond, busyPause(time.Hour))
	protocol.Says("so that it takes a fuller batch | 22.5 ms after its last turn", 22500*time.Microsecond, longestGap())
	protocol.Says("(about a second after its connection broke, else `SafetyLook`, 30 s)", 30*time.Second, usual.SafetyLook)
	protocol.Says("dead after 17 deliveries (earlier", 17, usual.MaxAttempts)

	protocol.Says("then less than 1 s, and", time.Second, asked().Truncate(time.Second)+time.Second)
	promises.Of(t, "docs/DEPLOYMENT.md").Says("it returns at most 4 s after its context has ended", 4*time.Second, closesAfter())

	promises.Of(t, "README.md").Says("come again when its lease ends, after 15 s by default", 15*time.Second, usual.Lease)
	reference := promises.Of(t, "docs/REFERENCE.md")
	reference.Says("It returns at most 4 seconds after that", 4*time.Second, closesAfter())
	reference.Says("| `Concurrency` | 64 |", 64, usual.Concurrency)
	reference.Says("| `Timeout` | 30 s |", 30*time.Second, usual.Timeout)
	reference.Says("keeps its slot for twice the `Timeout`", 2, int(ListenOptions{Timeout: time.Minute}.withDefaults(usual).hung/time.Minute))
	reference.Says("| `Lease` | 15 s |", 15*time.Second, usual.Lease)
	reference.Says("about 3 hours over the 16 retries", 3*time.Hour, allRetries(usual.Backoff).Round(time.Hour))
	reference.Says("| `MaxAttempts` | 17 |", 17, usual.MaxAttempts)
	reference.Says("| `SafetyLook` | 30 s |", 30*time.Second, usual.SafetyLook)
	reference.Says("come again when its lease ends, after 15 s by default", 15*time.Second, usual.Lease)
	reference.Says("with growing pauses, about 3 hours in all by default", 3*time.Hour, allRetries(usual.Backoff).Round(time.Hour))
	reference.Says("its slots stand still for its lease, 15 s by default", 15*time.Second, usual.Lease)
}

// longestGap is how long a slot waits at the most for a fuller batch, however many there are and whenever its last turn was.
func longestGap() (longest time.Duration) {
	var p pace
	p.gap.Store(int64(gapFor(1e9, 65536, 1)))
	for at := range 10_000 {
		sent := epoch.Add(time.Hour + time.Duration(at)*time.Microsecond)
		longest = max(longest, p.next(sent, sent).Sub(sent))
	}
	return longest
}

// allRetries is about how long the retries of a message take that fails each time.
func allRetries(b Backoff) (sum time.Duration) {
	for range 100 {
		for retry := 1; retry <= 16; retry++ {
			sum += b(retry) / 100
		}
	}
	return sum
}

// asked is when the holder of a busy slot is asked, at the latest: the slot may have been looked at just before it was
// busy for long enough.
func asked() time.Duration {
	at, pause := time.Duration(0), time.Duration(0)
	for at < askAfter {
		pause = busyPause(pause)
		at += pause
	}
	return at
}

// closesAfter is by how much Close of a client may outlive its context, in whole seconds: the consumer, and one second for
// what its handlers have sent (rmq.Client.Close).
func closesAfter() time.Duration {
	return (grace + flushWithin + time.Second).Truncate(time.Second) + time.Second
}
