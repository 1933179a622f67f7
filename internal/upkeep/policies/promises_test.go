package policies

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	promises.Of(t, "docs/PROTOCOL.md").Says("one `EXISTS` comes first, for up to 64 topics", 64, atOnce)
}
