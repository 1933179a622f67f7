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
	protocol.Says("(about a second after its connection broke, else `SafetyLook`, 30 s)", 30*time.Second, usual.SafetyLook)
	protocol.Says("dead after 17 deliveries (earlier", 17, usual.MaxAttempts)
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

// allRetries is about how long the retries of a message take that fails each time.
func allRetries(b Backoff) (sum time.Duration) {
	for range 100 {
		for retry := 1; retry <= 16; retry++ {
			sum += b(retry) / 100
		}
	}
	return sum
}

// closesAfter is by how much Close of a client may outlive its context, in whole seconds: the consumer, and one second for
// what its handlers have sent (rmq.Client.Close).
func closesAfter() time.Duration {
	return (grace + flushWithin + time.Second).Truncate(time.Second) + time.Second
}
