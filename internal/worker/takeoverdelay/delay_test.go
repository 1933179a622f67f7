package takeoverdelay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
)

// Backoff is asked once, however many want to know, and its answer is good for a second.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d delay
		if got := d.Delay(); got != unknownDelay {
			t.Errorf("before it was asked: %v", got)
		}
		times, answer := 0, make(chan time.Duration)
		ask := func() <-chan struct{} {
			return d.ask(func(f func()) { go f() }, func() time.Duration { times++; return <-answer })
		}
		first := ask()
		if second := ask(); second != first || !d.Pending() {
			t.Error("it is asked again before it has answered")
		}
		answer <- time.Minute
		<-first
		if got := d.Delay(); got != time.Minute || d.Pending() {
			t.Errorf("it answered 1m, and turns name %v", got)
		}
		<-ask()
		await.Pass(delayHolds)
		again := ask()
		answer <- time.Hour
		<-again
		if got := d.Delay(); got != time.Hour || times != 2 {
			t.Errorf("asked %d times, and turns name %v", times, got)
		}
	})
}
