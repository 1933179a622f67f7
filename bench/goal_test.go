package main

import (
	"slices"
	"testing"
)

// A goal goes by the median of its rounds, and a bound that is just reached is met.
func TestGoal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		goal
		want []string
	}{
		{atMost(4, "ms", "p99", 9, 3, 4), []string{"p99", "≤ 4 ms", "4", "3 .. 9", "met"}},
		{atMost(1.25, "", "CPU", 1.3, 1.1, 1.2551), []string{"CPU", "≤ 1.25", "1.26", "1.1 .. 1.3", "missed"}},
		{atLeast(0.95, "", "rate", 0.95, 2, 0.1), []string{"rate", "≥ 0.95", "0.95", "0.1 .. 2", "met"}},
		{atLeast(0.95, "", "rate", 0.94), []string{"rate", "≥ 0.95", "0.94", "0.94 .. 0.94", "missed"}},
	} {
		if got := c.row(); !slices.Equal(got, c.want) {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
