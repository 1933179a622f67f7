package journal

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	usual, err := Config{}.full()
	if err != nil {
		t.Fatal(err)
	}
	doc := promises.Of(t, "docs/JOURNAL.md")
	doc.Says("an idle one writes every 5 s that it lives", 5*time.Second, beat)
	doc.Says("a send gives up 2 s before", 2*time.Second, sendMargin)
	doc.Says("before the lease of 8 s is over", 8*time.Second, leaseFor)
	doc.Says("cannot be sent rests, for 5 s at the most", 5*time.Second, mostRest)
	doc.Says("is not closed, and 30 s old", 30*time.Second, vanished)
	doc.Says("who has a lease in `rmq_state`, of 8 s", 8*time.Second, leaseFor)
	doc.Says("clocks may be 1 s apart", time.Second, clocksApart)
	doc.Says("| `Lag` | 100 ms |", 100*time.Millisecond, usual.Lag)
	doc.Says("| `Buffer`, `Full` | 64 MiB, `Drop` |", 64<<20, usual.Buffer)
	doc.Says("| `Retention` | 7 days |", 7*24*time.Hour, usual.Retention)
	doc.Says("sends fail with `ErrNotJournaled` after 5 s (`WaitAtMost`)", 5*time.Second, usual.WaitAtMost)
	doc.Says("and sends with `Wait` fail after 5 s (`WaitAtMost`)", 5*time.Second, usual.WaitAtMost)
	doc.Says("Journals work it off each 250 ms", 250*time.Millisecond, checkpointLag)
	doc.Says("after 15 to", 15, int(busyPatience.Seconds()))
	promises.Of(t, "docs/DEPLOYMENT.md").Says("behind the `Retention`, 7 days.", 7*24*time.Hour, usual.Retention)
}
