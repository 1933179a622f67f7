package census

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	doc := promises.Of(t, "docs/CONSOLE.md")
	doc.Says("topics are counted four times a minute", 4, int(time.Minute/Step))
	doc.Says("for the lines of the last half hour", 30*time.Minute, Step*Steps)
	doc.Says("| 16,384 | slots of all topics together are counted", 16_384, countSlots)
}
