package dead

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/testing/must"
)

// What a person said relative to the present moment stays what it was when they go on later.
func TestFilterStaysTheSame(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct{ args, want string }{
		{"", "requeue orders --died-before=2026-01-31T03:00:00.001Z"},
		{"--older-than 1h", "requeue orders --died-before=2026-01-31T02:00:00.001Z"},
		{"--newer-than 2h", "requeue orders --died-after=2026-01-31T01:00:00.000Z --died-before=2026-01-31T03:00:00.001Z"},
		{"--older-than 1h --newer-than 2h --limit 10", "requeue orders --died-after=2026-01-31T01:00:00.000Z --died-before=2026-01-31T02:00:00.001Z --limit=8"},
		{"--died-before 2026-01-31T01:30:00Z --older-than 1h", "requeue orders --died-before=2026-01-31T01:30:00.000Z"},
		{"--died-after 2026-01-31T01:30:00Z --newer-than 2h", "requeue orders --died-after=2026-01-31T01:30:00.000Z --died-before=2026-01-31T03:00:00.001Z"},
		{"--limit 3 --reason x", "requeue orders --died-before=2026-01-31T03:00:00.001Z --limit=1 --reason=x"},
	} {
		var got string
		cmd := frame.Command{Use: "requeue", Flags: func(flags *frame.Flags) frame.Steps {
			var f filter
			f.add(flags, 0)
			return frame.Steps{func(_ context.Context, call *frame.Call) error {
				q, err := f.query(now)
				must.Do(t, err)
				got = f.rest(call, ended(q, now), 2)
				if q.Limit > 0 && f.rest(call, ended(q, now), q.Limit) != "" {
					t.Errorf("%s: it goes on where the limit is reached", c.args)
				}
				return nil
			}}
		}}.Cobra(frame.New("rmq", frame.Journals{}, nil, nil, nil))
		cmd.SetArgs(append([]string{"orders"}, strings.Fields(c.args)...))
		must.Do(t, cmd.Execute())
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.args, got, c.want)
		}
	}
}
