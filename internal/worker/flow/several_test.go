package flow

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// Several workers share something that serves eight at a time. Together they come down to about as
// many handlers, handle as much as it serves, and each has about its share.
func TestSeveralWorkersShareABottleneck(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for name, service := range map[string]func(*rand.Rand) time.Duration{
		"around": around(20 * time.Millisecond), "exponential": exponential(20 * time.Millisecond),
	} {
		for _, n := range []int{1, 2, 4, 8} {
			t.Run(fmt.Sprint(n, " ", name), func(t *testing.T) {
				all := fleet(random, n, 8, service)
				run(3*time.Minute, all...)
				before := make([]int, n)
				for i, w := range all {
					before[i] = w.good
				}
				const seconds = 180
				rate, sum, least := 0.0, 0, 1.0
				for range seconds {
					rate += run(time.Second, all...) / seconds
					sum += stay(all)
				}
				for i, w := range all {
					least = min(least, float64(w.good-before[i])/seconds/rate*float64(n))
				}
				handlers := float64(sum) / seconds
				t.Logf("%.1f handlers: %.0f of 400 messages a second; one has %.2f of its share; %d words", handlers, rate, least, all[0].words.said)
				if rate < 0.93*400 || handlers > 5*8 || least < 0.35 { // of 1,800 such runs: 379, 26 and 0.50
					t.Error("too little is handled, by all or by one, or by too many")
				}
			})
		}
	}
}

// Workers that start one after the other come down, too: what each found before the next one came says nothing.
func TestSeveralWorkersStartOneAfterTheOther(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for _, n := range []int{2, 4, 8} {
		for _, apart := range []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second} {
			all := fleet(random, n, 8, around(20*time.Millisecond))
			for i := range all {
				for _, w := range all[:i+1] {
					w.slots = 64 / (i + 1)
				}
				if i > 0 { // it has slots before it begins to work
					run(time.Second, all[:i]...)
					all[i].now = all[0].now
				}
				run(apart, all[:i+1]...)
			}
			run(80*time.Second, all...)
			sum := 0
			for range 100 {
				run(time.Second, all...)
				sum += stay(all)
			}
			handlers := float64(sum) / 100
			t.Logf("%d workers %v apart: %.1f handlers", n, apart, handlers)
			if handlers > 2*8 {
				t.Error("too many")
			}
		}
	}
}

// Where every handler is of use, workers that try together lose as little as one alone.
func TestSeveralWorkersLoseLittle(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for name, service := range map[string]func(*rand.Rand) time.Duration{
		"constant": constant(20 * time.Millisecond), "exponential": exponential(20 * time.Millisecond),
		"bimodal": bimodal(5*time.Millisecond, 300*time.Millisecond, 20),
	} {
		fixed := newWorld(random, nil, 1, service).run(2 * time.Minute)
		flows := run(30*time.Second, fleet(random, 4, 0, service)...) / 4
		t.Logf("%s: %.0f messages a second with 64 handlers each, %.0f without (%.3f)", name, fixed, flows, flows/fixed)
		if flows < 0.96*fixed {
			t.Errorf("%s: too much is lost", name)
		}
	}
}

// A worker that comes takes the number that the others have, and when half of them go, the others take
// what these leave.
func TestWorkersComeAndGo(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	late := 0
	for range 10 {
		all := fleet(random, 4, 32, around(20*time.Millisecond))
		first, last := all[:2], all[2:]
		run(time.Minute, first...)
		for _, w := range last {
			w.now = first[0].now
		}
		before := stay(first) / 2
		run(4*time.Second, all...)
		came := max(last[0].limit.stay, last[1].limit.stay)
		run(time.Minute, all...)
		four := stay(all)
		run(15*time.Second, last...)
		rate := run(10*time.Second, last...)
		t.Logf("%d each; who came %d; %d together, and when two have gone %d, which handle %.0f of 1600", before, came, four, stay(last), rate)
		if came > 32 || four > 128 || rate < 0.8*1600 {
			late++
		}
	}
	if late > 2 {
		t.Errorf("%d of 10 followed late, or not", late)
	}
}

// One worker's own machine is the bottleneck: the others keep all handlers, whoever leads, and that one has few.
func TestBottleneckOfOneWorker(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for one := range 3 {
		all := fleet(random, 3, 0, around(60*time.Millisecond))
		all[one].behind = new([]time.Time)
		all[one].capacity(4)
		run(3*time.Minute, all...)
		before := all[one].good
		rate := run(time.Minute, all...)
		own := float64(all[one].good-before) / 60
		t.Logf("%d, %d and %d handlers, %d is slow: %.0f messages a second, %.0f of 65 by that one", all[0].limit.stay, all[1].limit.stay, all[2].limit.stay, one, rate, own)
		if rate < 0.93*(2*1049+65) || own < 0.9*65 || all[one].limit.stay > 16 {
			t.Error("too little is handled, or the slow one has too many handlers")
		}
	}
}

// One of five words gets lost, and the others come late.
func TestWordsGetLost(t *testing.T) {
	t.Parallel()
	all := fleet(sharetest.Rand(t), 3, 8, around(20*time.Millisecond))
	all[0].words.lost, all[0].words.delay = 0.2, 100*time.Millisecond
	run(5*time.Minute, all...)
	rate, sum := 0.0, 0
	for range 300 {
		rate += run(time.Second, all...) / 300
		sum += stay(all)
	}
	t.Logf("%d handlers: %.0f of 400 messages a second", sum/300, rate)
	if rate < 0.9*400 || sum/300 > 96 {
		t.Error("too little is handled, or by too many")
	}
}

// The others may have more handlers than the one that was there first, and need them.
func TestLeaderWithALowerMaximum(t *testing.T) {
	t.Parallel()
	all := fleet(sharetest.Rand(t), 3, 0, around(20*time.Millisecond))
	first, last := all[:1], all[1:]
	first[0].limit, first[0].places = New("worker-0", 1, 8), 8
	run(10*time.Second, first...)
	for _, w := range last {
		w.now = first[0].now
	}
	run(30*time.Second, all...)
	for _, w := range last {
		if got := w.limit.stay; got != 64 {
			t.Errorf("%d handlers, though each is of use, and the one with 8 at the most can try no more", got)
		}
	}
}

// One worker of three has a bottleneck of its own, and handlers take half a second: what it finds holds for it
// alone, whoever leads.
func TestSlowBottleneckOfOneWorker(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for one := range 3 {
		all := fleet(random, 3, 0, constant(500*time.Millisecond))
		for i, w := range all {
			w.limit, w.places = New(fmt.Sprint("worker-", i), 1, 16), 16
		}
		all[one].behind = new([]time.Time)
		all[one].capacity(4)
		run(5*time.Minute, all...)
		rate := run(5*time.Minute, all...)
		t.Logf("%d, %d and %d handlers, %d is slow: %.1f messages a second of 72", all[0].limit.stay, all[1].limit.stay, all[2].limit.stay, one, rate)
		if rate < 0.9*72 {
			t.Error("too little is handled")
		}
	}
}

// Beside workers that have few handlers, since eight are served there, comes one from elsewhere: its handlers
// take ten times as long, and each is of use. What it needs it gets, though every trial of the others is too short for it.
func TestNewWorkerElsewhere(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	all := fleet(random, 3, 8, around(20*time.Millisecond))
	last := all[2]
	last.behind, last.service = new([]time.Time), around(200*time.Millisecond)
	run(2*time.Minute, all[:2]...)
	last.now = all[0].now
	run(5*time.Second, all...)
	came := last.limit.stay
	run(5*time.Minute, all...)
	before := last.good
	run(5*time.Minute, all...)
	rate := float64(last.good-before) / 300
	t.Logf("it came to %d handlers, and has %d, which handle %.0f messages a second of 320; the others have %d", came, last.limit.stay, rate, stay(all[:2]))
	if rate < 0.7*320 {
		t.Error("too few handlers for long")
	}
}

// Many workers with few handlers, whose times differ much: chance has none of them begin trials without end.
func TestManyWorkersLoseLittle(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	all := fleet(random, 24, 0, exponential(20*time.Millisecond))
	for i, w := range all {
		w.limit, w.places = New(fmt.Sprint("worker-", i), 1, 4), 4
	}
	rate := run(2*time.Minute, all...)
	t.Logf("%.0f messages a second of 4571, with %d of 96 handlers", rate, stay(all))
	if rate < 0.93*4571 {
		t.Error("too much is lost")
	}
}
