package plan

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("`base` is more than an hour ahead of", time.Hour, Ahead)
	protocol.Says("A clock more than an hour *behind* has", time.Hour, Ahead)
}
