package fleet

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	trial := func(lease time.Duration, topics int) time.Duration {
		n := newcomers{&parts{Config: Config{Lease: lease, Topics: make([]*Topic, topics)}}}
		return n.trial()
	}
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("enters it after a trial of 2 s", 2*time.Second, trial(30*time.Second, 1))
	protocol.Says("if that is less; 1 ms for each of its topics", time.Millisecond, trial(30*time.Second, 5000)/5000)
	if d := trial(time.Second, 5000); d != time.Second {
		t.Errorf("the trial of a worker with a lease of 1 s takes %v", d)
	}
	protocol.Says("When it has been `BUSY x` for 300 ms", 300*time.Millisecond, proofAfter)
	protocol.Says("every third of its lease, every 30 s at least", 30*time.Second, Recheck)
	protocol.Says("Workers read it when they start, every 30 s,", 30*time.Second, Recheck)
	protocol.Says("at once, and after 30 s if the hint gets lost", 30*time.Second, Recheck)

	promises.Of(t, "docs/REFERENCE.md").Says("A worker that joins others has its share after 2 s;", 2*time.Second, trial(30*time.Second, 1))

	deployment := promises.Of(t, "docs/DEPLOYMENT.md")
	deployment.Says("it tries again, with pauses of up to 5 s.", 5*time.Second, lastEntry)
	deployment.Says("says so about once a minute, level Warn", time.Minute, warnedAgainAfter())
}

// warnedAgainAfter is how long the log stays silent about a holder, while it is not known whether that is dead.
func warnedAgainAfter() time.Duration {
	var s suspicion
	at := time.Unix(1e9, 0)
	for !s.failed(at) { // the first ones may be an election
	}
	warned := at
	for at = at.Add(time.Second); !s.failed(at); at = at.Add(time.Second) {
	}
	return at.Sub(warned)
}
