package longrun

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("what a handler has run for 5 s or more", 5*time.Second, Long)
	protocol.Says("Each worker looks at its handlers every 2.5 s;", 2500*time.Millisecond, Long/2)
	protocol.Says("writes all again every 20 s,", 20*time.Second, renewal)
	protocol.Says("for a minute, and takes out", time.Minute, 3*renewal)
	promises.Of(t, "docs/CONSOLE.md").Says("that have run for 5 seconds or more", 5*time.Second, Long)
}
