package main

import (
	"math"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/slots"
)

// In a crowd all are of one slot, and of one entity that are due at once.
func TestCrowd(t *testing.T) {
	t.Parallel()
	p := crowd(1, 64, 500, 63, 20*time.Second, 20*time.Millisecond)
	others := map[int]int{}
	for i, one := range p.pieces {
		if slots.Of(p.basis(i), 64) != 0 || (one.entity == 0) != (i < p.ahead) || one.takes != 20*time.Millisecond {
			t.Fatalf("message %d: %+v", i, one)
		}
		others[one.entity]++
	}
	if sent := len(p.pieces) - p.ahead; p.ahead != 500 || len(others) != 64 || math.Abs(float64(sent)/1260-1) > 0.1 {
		t.Errorf("%d ahead, %d entities, %d messages of the others", p.ahead, len(others), sent)
	}
}
