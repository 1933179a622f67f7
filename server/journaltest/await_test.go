package journaltest

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/journal"
)

// awaitRoom returns when all that the journal holds is written.
func awaitRoom(t testing.TB, j *journal.Journal) {
	t.Helper()
	await.True(t, "all is written", func() bool {
		status, err := j.Status(ctx)
		return err == nil && status.Held == 0
	})
}
