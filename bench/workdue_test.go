package main

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/slots"
)

// Each slot always has a handler of a second, while others are due at whole milliseconds.
func TestOccupied(t *testing.T) {
	t.Parallel()
	p := occupied(1, 16, 200, 5*time.Second)
	begun := make([][]time.Duration, 16)
	seen := map[int]bool{}
	for i, one := range p.pieces {
		if seen[one.entity] {
			t.Errorf("message %d is of an entity that has another", i)
		}
		seen[one.entity] = true
		if i < p.ahead {
			if one.takes != 0 || one.at < time.Second || one.at >= 5*time.Second || one.at%time.Millisecond != 0 {
				t.Errorf("due: %+v", one)
			}
			continue
		}
		slot := slots.Of(p.basis(i), 16)
		begun[slot] = append(begun[slot], one.at)
		if one.takes != time.Second {
			t.Errorf("long: %+v", one)
		}
	}
	for slot, at := range begun {
		if len(at) != 5 || at[0] >= time.Second || at[4]-at[0] != 4*time.Second {
			t.Errorf("slot %d: %v", slot, at)
		}
	}
	if math.Abs(float64(p.ahead)/800-1) > 0.15 || !slices.IsSortedFunc(p.pieces[p.ahead:], func(a, b piece) int { return int(a.at - b.at) }) {
		t.Errorf("%d are due", p.ahead)
	}
}
