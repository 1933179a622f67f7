package keeper

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	const timeout = 10 * time.Second
	usual := Config{Servers: []string{"zk1:2181"}}.withDefaults()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("after each reconnection, and every 30 s.", 30*time.Second, recheck)
	protocol.Says("eight times in a session timeout, and counts from those writes. Time is that of the monotonic clock, and the timeout is the one that the server granted. For 10 s:", 10*time.Second, usual.SessionTimeout)
	protocol.Says("and once a second when the slots that it really has", time.Second, debounce)
	protocol.Says("after a random time up to 300 ms;", 300*time.Millisecond, usualSpread)
	protocol.Says("timeout waits 300 ms more", 300*time.Millisecond, usualSpread)
	protocol.Says("is leaving, wait for 100 ms:", 100*time.Millisecond, actsAfter(true))
	protocol.Says("until no other worker has come for a second,", time.Second, actsAfter(false))
	protocol.Says("come for a second, 5 s at most:", 5*time.Second, actsAtTheLatest())
	protocol.Says("it has written `owned/{id}` two beats", 2, provenAfter(timeout/session.Beats))
	protocol.Says("(a quarter of the session timeout) after it came", 1./4, float64(provenAfter(timeout/session.Beats))/session.Beats)
	protocol.Says("in any other case, two session timeouts after", 2, enough)
	protocol.Says("else four times; at 32 of them at most each time", 32, askedAtOnce)
	protocol.Says("when it had no answer for two session timeouts, and others", 2, aloneAfter)

	protocol.Says("4,096 slots make 11 KiB;", 11<<10, (mapBytes(4096)+1023)/1024*1024)

	reference := promises.Of(t, "docs/REFERENCE.md")
	reference.Says("its session, 10 s. Other workers", 10*time.Second, usual.SessionTimeout)
	reference.Says("for its session timeout, 10 s by default", 10*time.Second, usual.SessionTimeout)

	deployment := promises.Of(t, "docs/DEPLOYMENT.md")
	deployment.Says("`SessionTimeout`, 10 s by default,", 10*time.Second, usual.SessionTimeout)
	least, most := timeouts()
	deployment.Says("| `SessionTimeout` | 0.5 s", 500*time.Millisecond, least)
	deployment.Says("to 1 h. The server may grant", time.Hour, most)
	deployment.Says("| `Weight` | 0.01 to", 0.01, 1./maxWeight)
	deployment.Says("0.01 to 100 |", 100, maxWeight)
	deployment.Says("its share a second after it has come", time.Second, actsAfter(false))
	deployment.Says("and after 5 s at most, so that they all", 5*time.Second, actsAtTheLatest())
}

// actsAfter is how long the coordinator waits behind a change.
func actsAfter(urgent bool) time.Duration {
	var d delay
	now := time.Unix(1e9, 0)
	d.note(now, urgent, usualDelays)
	return d.due.Sub(now)
}

// actsAtTheLatest is how long it waits while workers come all the time.
func actsAtTheLatest() time.Duration {
	var d delay
	now := time.Unix(1e9, 0)
	for at := now; at.Before(now.Add(time.Hour)); at = at.Add(time.Second / 2) {
		d.note(at, false, usualDelays)
	}
	return d.due.Sub(now)
}

// provenAfter is after how many beats a worker is proven.
func provenAfter(beat time.Duration) int {
	for n := 0; ; n++ {
		if (&life{last: int64(n) * beat.Milliseconds()}).proven(beat) {
			return n
		}
	}
}

// timeouts are the shortest and the longest session timeout that is accepted, to a tenth of a second.
func timeouts() (least, most time.Duration) {
	const usual, step = time.Second, 100 * time.Millisecond
	accepted := func(d time.Duration) bool {
		return Config{Servers: []string{"zk1:2181"}, SessionTimeout: d}.withDefaults().validate() == nil
	}
	for least = usual; accepted(least - step); least -= step {
	}
	for most = usual; accepted(most + step); most += step {
	}
	return least, most
}

// mapBytes is how many bytes the map of an assignment has, as it is written in ZooKeeper.
func mapBytes(slots int) int {
	text, _ := assignment{owners: make([]string, slots)}.encode()
	var n struct{ Map string }
	_ = json.Unmarshal(text, &n)
	return len(n.Map)
}
