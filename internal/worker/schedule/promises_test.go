package schedule

import (
	"math"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

// promisedSlice is how long a busy slot keeps its place while another waits.
const promisedSlice = 100 * time.Millisecond

func TestPromises(t *testing.T) {
	t.Parallel()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("are owed for 50 ms beside the burst", 50*time.Millisecond, mostOwed())
	protocol.Says("gives its place up after a *slice* of 0.1 s,", promisedSlice, keptWhileOthersWait())
	protocol.Says("rounded up) × (0.1 s +", promisedSlice, Slice)
	protocol.Says("no token comes for 100 ms:", 100*time.Millisecond, settles)
	protocol.Says("650 s with 64 slots and 0.1 a second", 650*time.Second, lowestRates[0].longest)
	protocol.Says("max(1, L ÷ N ÷ 2) places of each topic", 2, 64/4/reserve(64, 4, 64))
}

// lowestRates are rates far below the number of slots, 64, and how long one of these may wait for its turn.
var lowestRates = []struct {
	perSecond float64
	longest   time.Duration
}{{0.1, 650 * time.Second}, {1.0 / 60, 65 * time.Minute}}

// mostOwed is for how long tokens of a rate are kept beside the burst while slots wait for them.
func mostOwed() time.Duration {
	const rate, burst = 1000, 10
	var b bucket
	b.set(rate, burst)
	b.fill(b.at.Add(24*time.Hour), true)
	return time.Duration(math.Round((b.tokens - burst) / rate * float64(time.Second)))
}

// keptWhileOthersWait is for how long a busy slot keeps its place while another of its topic waits for one.
func keptWhileOthersWait() time.Duration {
	p, topics := stage(1, 2)
	busy := &Slot{topic: topics[0], permit: permit{since: p.clock}, facts: Facts{Held: true}}
	topics[0].waiting.push(&Slot{topic: topics[0]})
	const step = time.Millisecond
	kept := step
	for ; kept < time.Minute && !p.permits.yields(busy, p.clock.Add(kept)); kept += step {
	}
	return kept - step
}
