package verdict

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	promises.Of(t, "docs/PROTOCOL.md").Says("the time it asked for, 1 hour at the most,", time.Hour, PushbackError(1000*time.Hour, nil).(pushbackError).rest)
}
