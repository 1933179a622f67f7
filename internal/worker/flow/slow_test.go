package flow

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// In an hour that begins with the first message, handlers lose little by the trials, however long
// they take; and those that take very long lose nothing.
func TestSlowHandlersLoseLittle(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for _, d := range []time.Duration{
		time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second,
		10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute,
	} {
		during := max(time.Minute, min(time.Hour, 1000*d)) // what takes a moment is seen in less
		fixed := newWorld(random, nil, 1, constant(d)).run(during)
		lost := 1 - newWorld(random, New("", 1, 64), 1, constant(d)).run(during)/fixed
		t.Logf("handlers of %v lose %.2f %% in %v", d, 100*lost, during)
		if lost > 0.015 || d > slow && lost > 0 {
			t.Errorf("handlers of %v lose too much", d)
		}
	}
}

// Slow handlers that push back are fewer at once, and become more again.
func TestSlowHandlersRecover(t *testing.T) {
	t.Parallel()
	w := newWorld(sharetest.Rand(t), New("", 1, 64), 1, constant(30*time.Second))
	w.run(time.Minute)
	w.limit.Finished(Batch{End: w.now, Pushed: true})
	few := w.limit.stay
	w.run(time.Hour)
	if few != 44 || w.limit.stay != 64 {
		t.Errorf("%d handlers after a push-back, and %d an hour later", few, w.limit.stay)
	}
}
