package commands

import (
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/testing/must"
)

// A lease that is over is told as what was, and is seen in a table that has little room.
func TestLeaseIsOver(t *testing.T) {
	t.Parallel()
	now := time.Now()
	worker := strings.Repeat("w", 40)
	for ends, says := range map[time.Duration]string{-58 * time.Second: "lease ended 58s ago", 58 * time.Second: "lease ends in 58s", 0: "lease ends now"} {
		var out strings.Builder
		a := on(screen{width: 200}, &out)
		a.describe(inspector.Explanation{Topic: inspector.Topic{Topic: rangeMerge("orders")}, Content: "x", Now: now,
			Flight: &inspector.Flight{Worker: worker, Since: now, Attempt: 1, Batch: 1, LeaseEnds: now.Add(ends)}})
		must.Do(t, a.flush())
		if !strings.Contains(out.String(), says+"\n") {
			t.Errorf("%q is not in %s", says, out.String())
		}
	}
	var out strings.Builder
	a := on(screen{width: 80}, &out)
	must.Do(t, a.showHolders(inspector.Topic{}, []inspector.Slot{{Worker: worker, Holder: worker, Since: now.Add(-time.Minute), Attempt: 17,
		LeaseEnds: now.Add(-time.Second), Paused: now.Add(-time.Hour)}}, now))
	must.Do(t, a.flush())
	if !strings.Contains(out.String(), "lease over") {
		t.Error(out.String())
	}
}
