package declaration

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

// What docs/PROTOCOL.md promises.
func TestPromises(t *testing.T) {
	t.Parallel()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("Each program looks every 30 s at the plans", 30*time.Second, LookEach)
	protocol.Says("→ the ms when, for an hour", time.Hour, endedFor)
	protocol.Says("A program that is without Redis for an hour,", time.Hour, endedFor)
}
