package main

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// Handlers take as long as the table says on average, since the load is computed from that.
func TestHandlings(t *testing.T) {
	t.Parallel()
	for _, h := range append(handlings, slowHandling) {
		random := rand.New(rand.NewPCG(1, 0))
		const n = 400_000
		var sum time.Duration
		for range n {
			sum += h.draw(random)
		}
		if off := math.Abs(float64(sum/n)/float64(h.mean) - 1); off > 0.05 {
			t.Errorf("%s: %v on average, not %v", h.name, sum/n, h.mean)
		}
	}
	if rate := handlingNamed("const").rate(64, 50); rate != 1600 {
		t.Errorf("%v a second", rate)
	}
}

// The shares of long handlers are those of the title.
func TestShares(t *testing.T) {
	t.Parallel()
	for name, share := range map[string]float64{"bimodal": 0.05, "rare": 0.005} {
		random, long := rand.New(rand.NewPCG(1, 0)), 0
		const n = 200_000
		for range n {
			if handlingNamed(name).draw(random) == 300*time.Millisecond {
				long++
			}
		}
		if got := float64(long) / n; math.Abs(got/share-1) > 0.1 {
			t.Errorf("%s: a share of %v", name, got)
		}
	}
	// Of a lognormal distribution with a sigma of 1 the mean is 1.65 times the median.
	random, below := rand.New(rand.NewPCG(1, 0)), 0
	const n = 200_000
	for range n {
		if handlingNamed("lognormal").draw(random) < 12131*time.Microsecond {
			below++
		}
	}
	if got := float64(below) / n; math.Abs(got-0.5) > 0.01 {
		t.Errorf("lognormal: a share of %v below the median", got)
	}
}
