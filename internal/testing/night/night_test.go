package night

import (
	"testing"
	"time"
)

// watched is a test whose failure is seen.
type watched struct {
	testing.TB
	failed bool
}

func (w *watched) Errorf(string, ...any) { w.failed = true }

func TestOnlyByNight(t *testing.T) {
	for _, c := range []struct {
		env   string
		times int
		fails bool
	}{{"", 3, false}, {"1", 100, true}} {
		t.Setenv("RMQ_NIGHT", c.env)
		if n := Times(3, 100); n != c.times {
			t.Errorf("RMQ_NIGHT=%s: %d times", c.env, n)
		}
		w := &watched{TB: t}
		if AtMost(w, "it", time.Second, time.Second); w.failed {
			t.Errorf("RMQ_NIGHT=%s: the bound itself is too much", c.env)
		}
		if AtMost(w, "it", time.Second+1, time.Second); w.failed != c.fails {
			t.Errorf("RMQ_NIGHT=%s: more than the bound fails: %t", c.env, w.failed)
		}
	}
}
