package watchdog

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("less a margin (a tenth of it, 500 ms at least)", 500*time.Millisecond, margin(time.Second))
	protocol.Says("The batch is touched every third of the lease", 1./3, touchedAfter(30*time.Second).Seconds()/30)
}
