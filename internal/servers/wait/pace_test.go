package wait

import (
	"context"
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	t.Parallel()
	p, began := Pace{Rate: 5000}, time.Now()
	for range 3 { // the third waits as long as the first two need at that rate, less the time of a step
		if err := p.Wait(context.Background(), 500); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took < 200*time.Millisecond-Step {
		t.Errorf("1000 took %v", took)
	}
	p.next = began.Add(-time.Hour) // what was not used is not made up for
	if err := p.Wait(context.Background(), 1); err != nil || p.next.Before(time.Now().Add(-time.Minute)) {
		t.Errorf("%v, next at %v", err, p.next)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	p.next = time.Now().Add(time.Hour)
	if p.Wait(ended, 1) == nil {
		t.Error("it goes on")
	}
}

func TestPaceMost(t *testing.T) {
	t.Parallel()
	for rate, want := range map[float64]int{0: 500, 0.5: 1, 50: 5, 4000: 400, 1e6: 500} {
		if p := (Pace{Rate: rate}); p.Most(500) != want {
			t.Errorf("at %v a second: %d, want %d", rate, p.Most(500), want)
		}
	}
}
