package jobs

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	doc := promises.Of(t, "docs/CONSOLE.md")
	doc.Says("| 8 | jobs at a time |", 8, mostRunning)
}
