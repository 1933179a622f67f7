package deaths

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/promises"
	"github.com/slotmq/go-rmq/internal/upkeep/periodic"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	promises.Of(t, "docs/PROTOCOL.md").Says("a look is one `EXISTS` for 32 slots", 32, periodic.InOneExists)
}
