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

// A rate is as sure as its messages are many, and less sure where they take very different times.
func TestDoubt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		batches, each int
		short, long   time.Duration
		want          float64
	}{
		"few":       {25, 1, time.Second, time.Second, 0.2},
		"many":      {100, 100, time.Second, time.Second, 0.01},
		"different": {100, 100, time.Millisecond, 999 * time.Millisecond, 0.1},
	} {
		now := time.Now()
		w := window{from: now}
		for i := range c.batches {
			took := c.short
			if i%2 == 0 {
				took = c.long
			}
			w.add(Batch{End: now, Took: took, Good: c.each})
		}
		if got := w.doubt(); got < 0.99*c.want || got > 1.01*c.want {
			t.Errorf("%s: %.3f", name, got)
		}
	}
}
