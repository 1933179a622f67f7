package inspector

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	promises.Of(t, "docs/CONSOLE.md").Says("and workers that vanished within a day.", 24*time.Hour, named)
}
