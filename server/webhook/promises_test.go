package webhook

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	promises.Of(t, "docs/PROTOCOL.md").Says("It expires 30 days after the last one began.", 30*24*time.Hour, keptFor)
}
