package journaltest

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/journal"
)

// await returns when what is asked for has come.
func await(t testing.TB, there func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for !there() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("it does not come")
		}
	}
}

// awaitRoom returns when all that the journal holds is written.
func awaitRoom(t testing.TB, j *journal.Journal) {
	t.Helper()
	await(t, func() bool {
		status, err := j.Status(ctx)
		must(t, err)
		return status.Held == 0
	})
}
