package main

import (
	"math"
	"math/rand/v2"
	"time"
)

// handling is how long handlers take.
type handling struct {
	name, title string
	mean        time.Duration
	loads       []int // percent of the places; the first is the usual one
	draw        func(*rand.Rand) time.Duration
}

// lognormalSigma is the deviation of the logarithm: one message in a hundred takes six times the mean.
const lognormalSigma = 1.0

var handlings = []handling{
	{"const", "20 ms each", 20 * time.Millisecond, []int{70}, func(*rand.Rand) time.Duration { return 20 * time.Millisecond }},
	{"exp", "exponential, mean 20 ms", 20 * time.Millisecond, []int{70, 50, 90}, func(r *rand.Rand) time.Duration {
		return time.Duration(r.ExpFloat64() * float64(20*time.Millisecond))
	}},
	{"bimodal", "95 % 5 ms, 5 % 300 ms", 19750 * time.Microsecond, []int{70, 50, 90}, either(5*time.Millisecond, 300*time.Millisecond, 0.05)},
	{"lognormal", "lognormal, mean 20 ms, sigma 1", 20 * time.Millisecond, []int{70}, func(r *rand.Rand) time.Duration {
		middle := math.Log(float64(20*time.Millisecond)) - lognormalSigma*lognormalSigma/2
		return time.Duration(math.Exp(middle + lognormalSigma*r.NormFloat64()))
	}},
	{"rare", "99.5 % 0.05 ms, 0.5 % 300 ms", 1549750 * time.Nanosecond, []int{20}, either(50*time.Microsecond, 300*time.Millisecond, 0.005)},
}

// slowHandling is simulated, and runs but once.
var slowHandling = handling{"slow", "99 % 2 s, 1 % 30 s", 2280 * time.Millisecond, []int{70}, either(2*time.Second, 30*time.Second, 0.01)}

// handlingNamed is one of the table; there must be one.
func handlingNamed(name string) handling {
	for _, h := range handlings {
		if h.name == name {
			return h
		}
	}
	panic("no handling is named " + name)
}

// either is usual, but for a share of rare ones.
func either(usual, rare time.Duration, share float64) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration {
		if r.Float64() < share {
			return rare
		}
		return usual
	}
}

// rate is how many messages a second load so many percent of the places.
func (h handling) rate(places, percent int) float64 {
	return float64(places) * float64(percent) / 100 / h.mean.Seconds()
}
