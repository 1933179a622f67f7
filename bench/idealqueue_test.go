package main

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/slots"
)

// inSlots is a plan with messages of 10 ms at these times, in ms. It returns their slots, too.
func inSlots(width int, at ...int) (p workPlan, of []int) {
	for i, ms := range at {
		p.pieces = append(p.pieces, piece{at: time.Duration(ms) * time.Millisecond, takes: 10 * time.Millisecond, entity: i})
		of = append(of, slots.Of(strconv.Itoa(i), width))
	}
	return p, of
}

func millis(l latencies) (all []int) {
	for _, one := range l {
		all = append(all, int(one/time.Millisecond))
	}
	return all
}

// In an ideal queue a message waits for a place, and for nothing else.
func TestOneQueue(t *testing.T) {
	t.Parallel()
	p, _ := inSlots(1, 0, 2, 4, 30, 31)
	for _, c := range []struct {
		q    idealQueue
		want []int
	}{
		{idealQueue{workers: 1, places: 1}, []int{0, 9, 16}}, // those of 0 and 2 ms are the first tenth
		{idealQueue{workers: 1, places: 2}, []int{0, 0, 6}},
		{idealQueue{workers: 2, places: 1}, []int{0, 0, 6}},
		{idealQueue{workers: 1, places: 1, slots: 1, serial: true}, []int{0, 9, 16}},
		{idealQueue{workers: 1, places: 5, slots: 1, serial: true}, []int{0, 9, 16}},
		{idealQueue{workers: 1, places: 5, slots: 1}, []int{0, 0, 0}},
	} {
		if got := millis(c.q.waits(p)); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, not %v", c.q, got, c.want)
		}
	}
}

// The slots of a worker wait for it, even if another is idle: unless it helps, which it
// does for slots of which nothing runs.
func TestOwners(t *testing.T) {
	t.Parallel()
	p, of := inSlots(8, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	busy := 0 // messages of the first worker; those of the other one take no time
	for i, slot := range of {
		if slot%2 == 0 {
			busy++
		} else {
			p.pieces[i].takes = 0
		}
	}
	if busy < 3 || busy == len(of) {
		t.Fatalf("the test wants slots of both workers: %v", of)
	}
	wait := func(q idealQueue) int { return slices.Max(millis(q.waits(p))) }
	own, help := idealQueue{workers: 2, places: 1, slots: 8}, idealQueue{workers: 2, places: 1, slots: 8, help: true}
	if got, want := wait(own), 10*(busy-1); got != want {
		t.Errorf("without help one waits %d ms at the most, not %d", got, want)
	}
	if got := wait(help); got >= wait(own) {
		t.Errorf("with help one waits %d ms at the most, not less than %d", got, wait(own))
	}
	// Four of one slot, of two workers with two places each: two wait for the first's worker.
	var same workPlan
	for range 4 {
		same.pieces = append(same.pieces, piece{takes: time.Second})
	}
	one := idealQueue{workers: 2, places: 2, slots: 1, help: true}
	if got := one.waits(same).ms(1); got != 1000 {
		t.Errorf("a slot of which something runs was helped with: %v ms", got)
	}
}
