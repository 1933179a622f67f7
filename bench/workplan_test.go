package main

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"
)

// A seed has one plan, whose messages come at random times in order, as many as the rate says.
func TestWorkPlan(t *testing.T) {
	t.Parallel()
	h := handlingNamed("exp")
	p := newWorkPlan(7, h, 2000, 20*time.Second)
	if !reflect.DeepEqual(p, newWorkPlan(7, h, 2000, 20*time.Second)) || reflect.DeepEqual(p, newWorkPlan(8, h, 2000, 20*time.Second)) {
		t.Error("not the plan of the seed")
	}
	if n := len(p.pieces); math.Abs(float64(n)/40_000-1) > 0.03 {
		t.Errorf("%d messages", n)
	}
	if !slices.IsSortedFunc(p.pieces, func(a, b piece) int { return int(a.at - b.at) }) {
		t.Error("not in the order of time")
	}
	long := 0 // pauses of more than their mean: a share of 1/e
	for i := range p.pieces[1:] {
		if p.pieces[i+1].at-p.pieces[i].at > time.Second/2000 {
			long++
		}
	}
	if share := float64(long) / float64(len(p.pieces)); math.Abs(share-1/math.E) > 0.01 {
		t.Errorf("a share of %v pauses is longer than the mean", share)
	}
	if last := p.pieces[len(p.pieces)-1]; p.warm() != last.at/10 || p.entities() != len(p.pieces) || last.entity != len(p.pieces)-1 {
		t.Errorf("warm for %v, %d entities", p.warm(), p.entities())
	}
}

// The k-th entity has 1/k of what the first has.
func TestZipf(t *testing.T) {
	t.Parallel()
	p := workPile(1, handlingNamed("const"), 300_000)
	p.zipf(1, 1000)
	count := make([]float64, 1000)
	for _, one := range p.pieces {
		count[one.entity]++
	}
	for _, k := range []int{2, 3, 6} {
		if ratio := count[0] / count[k-1]; math.Abs(ratio/float64(k)-1) > 0.05 {
			t.Errorf("the first has %v times as many as entity %d", ratio, k)
		}
	}
	if p.entities() != 1000 || slices.Min(count) == 0 {
		t.Errorf("%d entities, of which one has %v messages", p.entities(), slices.Min(count))
	}
}

// A tenth fails, and a content has its entity and its number.
func TestPieces(t *testing.T) {
	t.Parallel()
	p := workPile(1, handlingNamed("const"), 50_000)
	if text := p.content(41, 100); numbered(text) != content(41, 100) || p.basis(41) != "" {
		t.Errorf("%q", text)
	}
	p.failing(1, 0.1)
	fail := 0
	for _, one := range p.pieces {
		if one.fails {
			fail++
		}
	}
	if fail < 4_700 || fail > 5_300 {
		t.Errorf("%d fail", fail)
	}
	p.zipf(1, 10)
	text, name := p.content(41, 100), fmt.Sprintf("entity-%d", p.pieces[41].entity)
	if len(text) != 100 || text[:len(name)+4] != name+":41 " || newIdentities(50_000).number(numbered(text)) != 41 || p.basis(41) != name {
		t.Errorf("%q of %s", text, name)
	}
	if sum := p.total(); sum != 1000*time.Second {
		t.Errorf("%v in all", sum)
	}
}
