package planner

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("| Redis does not answer | 0.5 s after it does again |", 500*time.Millisecond, again)
	protocol.Says("| 0.5 s after the client knows the new one |", 500*time.Millisecond, again)
}
