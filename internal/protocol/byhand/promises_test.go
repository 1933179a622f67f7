package byhand

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	// As much of the part, and as much of what is in flight.
	promises.Of(t, "docs/PROTOCOL.md").Says("of a page, about 1 MiB at most.", 1<<20, 2*auditBytes)
}
