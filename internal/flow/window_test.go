package flow

import (
	"testing"
	"time"
)

// A window begins when what had begun before it has ended, also after a time without work: what ends
// at first has taken in a part of the time before.
func TestWindowBeginsWithWhatBeginsInIt(t *testing.T) {
	t.Parallel()
	w, begin := window{}, time.Now()
	for round := range 2 {
		from := begin.Add(time.Duration(round) * time.Minute)
		for _, c := range []struct {
			at      time.Duration
			counted bool
		}{{0, false}, {50 * time.Millisecond, false}, {99 * time.Millisecond, false}, {100 * time.Millisecond, true}, {150 * time.Millisecond, true}} {
			if w.add(Batch{End: from.Add(c.at), Took: 100 * time.Millisecond, Good: 16}) != c.counted {
				t.Errorf("round %d: a batch that ends after %v is counted: %v", round, c.at, !c.counted)
			}
		}
		if w.good != 32 || w.lasts() != 50*time.Millisecond {
			t.Errorf("round %d: %d messages in %v", round, w.good, w.lasts())
		}
	}
}
