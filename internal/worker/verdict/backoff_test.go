package verdict

import (
	"testing"
	"time"
)

func TestBackoffs(t *testing.T) {
	t.Parallel()
	b := Exponential(time.Second, 30*time.Second)
	for retry, most := range map[int]time.Duration{1: 1, 2: 2, 3: 4, 4: 8, 5: 16, 6: 30, 7: 30, 16: 30, 1000: 30} {
		most *= time.Second
		seen := map[time.Duration]bool{}
		for range 100 {
			d := b(retry)
			if d < most*4/5 || d > most*6/5 {
				t.Fatalf("retry %d waits %v, want %v, a fifth more or less", retry, d, most)
			}
			seen[d] = true
		}
		if len(seen) < 50 {
			t.Errorf("retry %d: only %d different values", retry, len(seen))
		}
	}
	if d := Exponential(0, 0)(3); d != 0 {
		t.Errorf("exponential of nothing: %v", d)
	}
	if d := Exponential(time.Minute, time.Second)(1); d > 6*time.Second/5 {
		t.Errorf("base above most: %v", d)
	}
	if d := Exponential(time.Second, 1<<62)(1000); d <= 0 {
		t.Errorf("overflow: %v", d)
	}
	s := Schedule(1, 2, 3)
	if s(1) != 1 || s(2) != 2 || s(3) != 3 || s(16) != 3 || Schedule()(1) != 0 {
		t.Error("schedule")
	}
}
