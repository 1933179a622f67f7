package model

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// TestRandomWalks looks for a violation of the protocol as it is. A walk that fails can be taken
// again: RMQ_SEED and its number tell all of it.
func TestRandomWalks(t *testing.T) {
	t.Parallel()
	seed := uint64(sharetest.Seed(t))
	walks := night.Times(10_000, 30_000)
	total := 0
	for _, c := range cells() {
		o := WideOptions(c.kind, c.zooKeeper)
		steps, failures := 0, 0
		var shortest *Trace
		for n := range uint64(walks) {
			took, trace := Walk(o, seed, n)
			steps += took
			if trace == nil {
				continue
			}
			t.Errorf("%v, walk %d of RMQ_SEED=%d: %s", &o, n, seed, trace.Violation)
			trace.shrink()
			if shortest == nil || len(trace.steps) < len(shortest.steps) {
				shortest = trace
			}
			if failures++; failures == 20 {
				break
			}
		}
		t.Logf("%-22v %d walks, %d steps, %d failed", &o, walks, steps, failures)
		total += walks
		if shortest != nil {
			t.Errorf("the shortest: %v", shortest)
		}
	}
	t.Logf("%d walks", total)
}

// TestForgetting: whatever Redis forgets, the slot goes on, and no attempt is spent on a batch whose
// holder lives.
func TestForgetting(t *testing.T) {
	t.Parallel()
	seed := uint64(sharetest.Seed(t))
	for _, c := range cells() {
		o := ForgettingOptions(c.kind, c.zooKeeper)
		steps, walks := 0, night.Times(6_000, 20_000)
		for n := range uint64(walks) {
			took, trace := WalkForgetting(o, seed, n)
			steps += took
			if trace != nil {
				t.Fatalf("%v, walk %d of RMQ_SEED=%d: %v", &o, n, seed, trace)
			}
		}
		t.Logf("%-22v %d walks, %d steps", &o, walks, steps)
	}
}

func TestWalksRepeat(t *testing.T) {
	t.Parallel()
	o := WideOptions(Priority, false)
	o.TakeWhenEmpty = false // so that there is something to compare
	for n := range uint64(50) {
		steps, trace := Walk(o, 7, n)
		again, same := Walk(o, 7, n)
		if steps != again || (trace == nil) != (same == nil) {
			t.Fatalf("walk %d took %d steps, then %d", n, steps, again)
		}
		if trace != nil && trace.String() != same.String() {
			t.Fatalf("walk %d: %v\nthen %v", n, trace, same)
		}
	}
}

func TestShrinkKeepsTheViolation(t *testing.T) {
	t.Parallel()
	o := WideOptions(RangeMerge, false)
	o.FinishByNumber = false
	shrunk := 0
	for n := range uint64(200) {
		_, trace := Walk(o, 1, n)
		if trace == nil {
			continue
		}
		name, steps := trace.Name(), len(trace.steps)
		trace.shrink()
		violation, _ := trace.replay(trace.steps)
		if nameOf(violation) != name || violation != trace.Violation {
			t.Fatalf("walk %d violated %s, shrunk %q: %v", n, name, violation, trace)
		}
		if len(trace.steps) < steps {
			shrunk++
		}
	}
	if shrunk == 0 {
		t.Fatal("nothing was shrunk")
	}
}
