package rmqotel

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("It holds 10,000 contents of", 10_000, mostContents)
	protocol.Says("contents of up to 4 KiB at most", 4<<10, mostBytes)
	protocol.Says("It expires 24 h after the last new one came", 24*time.Hour, Config{}.withDefaults().LinksExpire)
}
