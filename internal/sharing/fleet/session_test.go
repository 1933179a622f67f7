package fleet

import (
	"testing"
	"time"
)

// The log warns after some questions without an answer, and again after a while, not with
// each of them.
func TestWhenAPersonIsTold(t *testing.T) {
	t.Parallel()
	var d suspicion
	begun := time.Now()
	for i, at := range []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, sayAgain, sayAgain + 2*time.Second, sayAgain + 3*time.Second} {
		want := i+1 == failuresAllowed || at == sayAgain+2*time.Second
		if d.failed(begun.Add(at)) != want {
			t.Errorf("question %d, after %v: told is %t", i+1, at, !want)
		}
	}
}
