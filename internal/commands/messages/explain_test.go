package messages

import (
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/testing/must"
)

// A lease that is over is described in the past tense.
func TestLeaseIsOver(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for ends, says := range map[time.Duration]string{-58 * time.Second: "lease ended 58s ago", 58 * time.Second: "lease ends in 58s", 0: "lease ends now"} {
		var out strings.Builder
		call := frame.New("rmq", frame.Journals{}, nil, &out, nil)
		call.Screen.Width = 200
		describe(call, inspector.Explanation{Content: "x", Now: now,
			Flight: &inspector.Flight{Worker: strings.Repeat("w", 40), Since: now, Attempt: 1, Batch: 1, LeaseEnds: now.Add(ends)}})
		must.Do(t, call.Flush())
		if !strings.Contains(out.String(), says+"\n") {
			t.Errorf("%q is not in %s", says, out.String())
		}
	}
}
