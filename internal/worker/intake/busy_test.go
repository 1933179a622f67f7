package intake

import (
	"slices"
	"testing"
	"time"
)

// A holder is asked after it has been busy for a while, and not again at once. The next one
// that is busy there is asked as soon, although somebody was asked about the slot just now.
func TestQuestionsOfTwoHolders(t *testing.T) {
	t.Parallel()
	var b Busy
	now, begin := time.Now(), time.Time{}
	var asked []time.Duration
	still := func(passes time.Duration) {
		now = now.Add(passes)
		if lasts, ask, _ := b.Still(now); lasts != now.Sub(begin) {
			t.Errorf("busy for %v, not %v", lasts, now.Sub(begin))
		} else if ask {
			asked = append(asked, lasts)
		}
	}
	for range 2 {
		begin = now
		b.Begin(now)
		still(0)
		still(askAfter - 1)
		still(1)
		still(askEvery - 1) // asked just now
		still(1)
		still(askEvery / 2)
	}
	if once := []time.Duration{askAfter, askAfter + askEvery}; !slices.Equal(asked, slices.Concat(once, once)) {
		t.Errorf("asked after %v", asked)
	}
}

// The looks at a slot that stays busy grow apart. When it was taken meanwhile they begin anew.
func TestBusySlotLooksLessOften(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	var b Busy
	for round := range 2 {
		for _, want := range []time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 500 * ms, 500 * ms} {
			if _, _, pause := b.Still(time.Now()); pause != want {
				t.Errorf("round %d: the next look is after %v, not %v", round, pause, want)
			}
		}
		b.End()
	}
}
