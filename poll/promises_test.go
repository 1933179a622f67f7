package poll

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("its id has 128 random bits", 128, 8*len(newBits()))
	protocol.Says("looks every 30 s as workers do", 30*time.Second, Config{}.withDefaults().SafetyLook)
	protocol.Says("one that another holds after 50 ms,", 50*time.Millisecond, busyPause(0))
	protocol.Says("twice as long each time", 2, int(busyPause(100*time.Millisecond)/(100*time.Millisecond)))
	protocol.Says("twice as long each time, 5 s at the most", 5*time.Second, busyPause(time.Hour))
	protocol.Says("The topic is closed a minute after the last take", time.Minute, idleTopic)
	protocol.Says("Each says so every 30 s while somebody takes there", 30*time.Second, refresh)
	protocol.Says("while somebody takes there, for 90 s.", 90*time.Second, counted)
	protocol.Says("So `Most` is 1 unless more is asked for", 1, Take{}.withDefaults().Most)

	http := promises.Of(t, "docs/HTTP.md")
	http.Says("costs Redis no more than a look every 30 s", 30*time.Second, Config{}.withDefaults().SafetyLook)
	backoff := Config{}.withDefaults().Backoff
	http.Says("`in` so long, or after 1 s,", time.Second, mean(backoff, 1).Round(100*time.Millisecond))
	http.Says(" 2 s,", 2*time.Second, mean(backoff, 2).Round(100*time.Millisecond))
	http.Says("4 s …,", 4*time.Second, mean(backoff, 3).Round(100*time.Millisecond))
	http.Says("30 min at the most;", 30*time.Minute, mean(backoff, 16).Round(time.Minute))
	http.Says("| time to run | 1 s", time.Second, shortestTTR)
	http.Says("to 12 h |", 12*time.Hour, longestTTR)
	http.Says("| a batch that is taken | 256 messages |", 256, mostTaken())
}

// mostTaken is the most messages that a take may ask for.
func mostTaken() int {
	most := 1
	for ; (Take{Most: most + 1, TTR: time.Minute}).validate() == nil; most++ {
	}
	return most
}

// mean is about what a back-off is without its chance.
func mean(b consumer.Backoff, retry int) time.Duration {
	const times = 20_000
	sum := 0.0
	for range times {
		sum += b(retry).Seconds()
	}
	return time.Duration(sum / times * float64(time.Second))
}
