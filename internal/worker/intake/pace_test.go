package intake

import (
	"testing"
	"time"
)

func TestGap(t *testing.T) {
	t.Parallel()
	ms := func(x float64) time.Duration { return time.Duration(x * float64(time.Millisecond)) }
	for _, c := range []struct {
		perSec float64
		slots  int
		share  float64
		want   time.Duration
	}{
		{0, 64, 1, 0},
		{100, 64, 1, 0}, // less than the least
		{1000, 4, 1, 0},
		{10_000, 50, 1, ms(0.535)},
		{40_000, 64, 1, ms(1.937)},
		{360_000, 16, 1, ms(2.516)},
		{360_000, 64, 1, ms(10.064)},
		{360_000, 256, 1, mostGap},
		{10_000, 16, 0.25, ms(1.937)}, // as the worker that has all of 40,000 on 64 slots
		{1e9, 65_536, 0.001, mostGap},
		{1e5, 64, 0, 0}, // all are being left
	} {
		if got := Gap(c.perSec, c.slots, c.share); (got - c.want).Abs() > 2*time.Microsecond {
			t.Errorf("%v messages a second on %d slots, %v of all: %v, want %v", c.perSec, c.slots, c.share, got, c.want)
		}
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	p, now, asked := NewPace(Gap), time.Now(), 0
	busy := func() (int, float64) { asked++; return 64, 1 }
	if at := p.Next(now, now); !at.IsZero() {
		t.Errorf("at first a slot waits until %v", at)
	}
	p.Took(0, now, busy) // the first window begins
	for range 40 {       // 40,000 a second
		now = now.Add(paceWindow / 39)
		p.Took(2000/40, now, busy)
	}
	if asked != 2 {
		t.Errorf("%d windows", asked)
	}
	const gap, step = 1937 * time.Microsecond, 242 * time.Microsecond
	ends := map[time.Duration]bool{}
	for since := time.Duration(0); since < gap; since += 10 * time.Microsecond {
		at := p.Next(now.Add(since), now.Add(since))
		if wait := at.Sub(now) - since; wait < gap*9/10 || wait > gap+step*11/10 {
			t.Fatalf("a slot waits for %v, not about %v", wait, gap)
		}
		ends[at.Sub(epoch)] = true
	}
	if len(ends) > gapSteps+2 { // and those of the gaps before and behind
		t.Errorf("gaps end at %d times, not at %d", len(ends), gapSteps)
	}
	if at := p.Next(now, now.Add(2*gap)); !at.IsZero() {
		t.Errorf("a slot whose handlers took longer than the gap waits until %v", at)
	}
	p.Took(0, now.Add(time.Hour), busy)
	if at := p.Next(now, now); !at.IsZero() {
		t.Errorf("after an hour without messages a slot waits until %v", at)
	}
}
