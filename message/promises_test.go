package message

import (
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
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
	reference := promises.Of(t, "docs/REFERENCE.md")
	reference.Says("`MaxContent` | 256 KiB |", 256<<10, limits.DefaultContentBytes)
	reference.Says("the largest content; 64 MiB at most", 64<<20, limits.ContentBytes)
	readme := promises.Of(t, "README.md")
	readme.Says("a content has 256 KiB at most,", 256<<10, limits.DefaultContentBytes)
	readme.Says("64 MiB if you set it so", 64<<20, limits.ContentBytes)
	reference.Says("a new topic gets 64.", 64, limits.DefaultSlots)
}

func longestName() (n int) {
	for validateName("Topic.Name", strings.Repeat("n", n+1)) == nil {
		n++
	}
	return n
}
