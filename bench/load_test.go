package main

import (
	"sync/atomic"
	"testing"
	"time"
)

// A send that takes long holds up no other: the first one here waits for all others.
func TestPlay(t *testing.T) {
	t.Parallel()
	const n = 20
	var sent atomic.Int32
	others := make(chan struct{})
	err := play(n, func(i int) time.Duration { return time.Duration(i) * time.Microsecond }, time.Now(), func(i int) error {
		if i == 0 {
			<-others
		} else if sent.Add(1) == n-1 {
			close(others)
		}
		return nil
	})
	if err != nil || sent.Load() != n-1 {
		t.Errorf("%d sent: %v", sent.Load(), err)
	}
}
