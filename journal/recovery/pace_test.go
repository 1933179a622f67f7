package recovery

import (
	"context"
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	t.Parallel()
	p, began := pace{rate: 5000}, time.Now()
	for range 3 { // the third waits until the first two are paid for, but for the time of a page
		if err := p.wait(context.Background(), 500); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took < 200*time.Millisecond-pageTime {
		t.Errorf("1000 took %v", took)
	}
	p.next = began.Add(-time.Hour) // what was not used is not made up for
	if err := p.wait(context.Background(), 1); err != nil || p.next.Before(time.Now().Add(-time.Minute)) {
		t.Errorf("%v, next at %v", err, p.next)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	p.next = time.Now().Add(time.Hour)
	if p.wait(ended, 1) == nil {
		t.Error("it goes on")
	}
}
