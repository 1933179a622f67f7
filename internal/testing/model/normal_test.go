package model

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// TestNormalFormHidesNothing walks the same steps twice, once in a world that is normalised after
// each of them. It must be able to do the same, break at the same step, and look the same once both
// are normalised.
func TestNormalFormHidesNothing(t *testing.T) {
	t.Parallel()
	seed := uint64(sharetest.Seed(t))
	for _, c := range cells() {
		for n := range uint64(night.Times(2000, 6000)) {
			o := searchOptions(c)
			r := rand.New(rand.NewPCG(seed, n))
			o.Max.Contents = 1 + r.IntN(2)
			o.Max.Faults, o.Max.Sends, o.Delay = 3, 4, int8(1+r.IntN(3))
			o.NoDelay, o.HandBack, o.Single, o.Snooze = r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0
			o.Journaling = Journaling(r.IntN(3))
			if n%3 == 0 { // without a rule there are violations to agree on
				rules[r.IntN(len(rules))].off(&o.Rules)
			}
			compareNormalised(t, &o, r)
			if t.Failed() {
				t.Fatalf("%v, walk %d of seed %d", &o, n, seed)
			}
		}
	}
}

func compareNormalised(t *testing.T, o *Options, r *rand.Rand) {
	t.Helper()
	plain := &world{Options: o, state: start(o)}
	short := &world{Options: o, state: start(o)}
	weights := drawWeights(r)
	for range walkSteps {
		// A late duplicate that can do nothing is forgotten. That makes room for another one.
		idle := func(s step) bool {
			forgotten := short.Workers[s.Worker].Ghost.From == 0 && plain.Workers[s.Worker].Ghost.From != 0
			return forgotten && (s.Op == arriveDup || s.Op == duplicate || s.Op == forget)
		}
		can := plain.steps(nil)
		want := slices.DeleteFunc(slices.Clone(can), idle)
		if got := slices.DeleteFunc(short.steps(nil), idle); !slices.Equal(got, want) {
			t.Errorf("normalised, other steps are possible: %v instead of %v", got, want)
			return
		}
		if len(can) == 0 {
			return
		}
		s := choose(can, weights[:], r)
		if !idle(s) {
			short.exec(s)
			short.check()
		}
		plain.exec(s)
		plain.check()
		if plain.violation != "" || short.violation != "" {
			if nameOf(plain.violation) != nameOf(short.violation) {
				t.Errorf("%q, but normalised %q", plain.violation, short.violation)
			}
			return
		}
		short.normalise()
		late := world{Options: o, state: plain.state}
		if late.normalise(); late.state != short.state {
			t.Errorf("normalised only now: %+v\nnormalised always:   %+v", late.state, short.state)
			return
		}
	}
}
