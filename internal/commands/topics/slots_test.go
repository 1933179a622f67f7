package topics

import (
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/testing/must"
)

// A lease that is over is seen in a table that has little room.
func TestLeaseIsOver(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := frame.New("rmq", frame.Journals{}, nil, &out, nil).Page
	now, worker := time.Now(), strings.Repeat("w", 40)
	holders(p, []inspector.Slot{{Worker: worker, Holder: worker, Since: now.Add(-time.Minute), Attempt: 17,
		LeaseEnds: now.Add(-time.Second), Paused: now.Add(-time.Hour)}}, now).End()
	must.Do(t, p.Flush())
	if !strings.Contains(out.String(), "lease over") {
		t.Error(out.String())
	}
}
