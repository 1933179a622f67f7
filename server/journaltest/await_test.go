package journaltest

import (
	"testing"
	"time"
)

// await returns when what is asked for has come.
func await(t testing.TB, there func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for !there() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("it does not come")
		}
	}
}
