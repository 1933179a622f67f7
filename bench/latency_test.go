package main

import (
	"testing"
	"time"
)

// A share of all stays within the figure, and the whole share within the largest.
func TestQuantiles(t *testing.T) {
	t.Parallel()
	var l latencies
	for i := range 1000 {
		l = append(l, time.Duration(i+1)*time.Millisecond)
	}
	for share, want := range map[float64]float64{0: 1, 0.5: 501, 0.9: 901, 0.99: 991, 1: 1000} {
		if got := l.ms(share); got != want {
			t.Errorf("%v: %v ms, not %v", share, got, want)
		}
	}
}
