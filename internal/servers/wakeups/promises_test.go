package wakeups

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	promises.Of(t, "docs/PROTOCOL.md").Says("Workers look every 5 s where the slots are", 5*time.Second, layoutEvery)
}
