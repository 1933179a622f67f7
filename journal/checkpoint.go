package journal

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// checkpointLag is how long what committed stays in the log alone.
const checkpointLag = 250 * time.Millisecond

// checkpoint works the log of a file off, until ctx ends. A commit to a log that has grown large would do so
// itself, and sends would wait for that, too. If it fails, the log grows until a commit works it off.
func (j *Journal) checkpoint(ctx context.Context) {
	for {
		select {
		case <-j.committed:
		case <-ctx.Done():
			return
		}
		if !wait.Sleep(ctx, checkpointLag) {
			return
		}
		if rows, err := j.db.QueryContext(ctx, j.dialect.checkpoint); err == nil {
			_ = rows.Close()
		}
	}
}
