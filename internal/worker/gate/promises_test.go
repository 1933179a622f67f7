package gate

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("A worker writes it again every 20 s as long as it probes", 20*time.Second, renewal)
	protocol.Says("the key expires a minute after the last time", time.Minute, 3*renewal)
}
