package message

import (
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/limits"
	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("the empty name, and more than 200 bytes.", 200, longestName())
	protocol.Says("One first delivery and 16 retries.", 16, MaxRetries)
	protocol.Says("- **17 deliveries.**", 17, limits.Deliveries)
	protocol.Says("its priority (17 … 2^53 − 1), or 1", 1<<53-1, limits.MaxScore)
	protocol.Says("its priority (17 …", 17, limits.MinPriority)
	protocol.Says("Delays are whole ms from 0 to 10^12;", 1_000_000_000_000, int(limits.MaxDelay))
	promises.Of(t, "README.md").Says("`MaxContent` | 256 KiB |", 256<<10, limits.DefaultContentBytes)
	promises.Of(t, "README.md").Says("the largest content; 64 MiB at most", 64<<20, limits.ContentBytes)
	promises.Of(t, "README.md").Says("256 KiB is the limit of a content", 256<<10, limits.DefaultContentBytes)
	promises.Of(t, "README.md").Says("(64 MiB can be set)", 64<<20, limits.ContentBytes)
	promises.Of(t, "README.md").Says("a new topic gets 64.", 64, limits.DefaultSlots)
}

func longestName() (n int) {
	for validateName("Topic.Name", strings.Repeat("n", n+1)) == nil {
		n++
	}
	return n
}
