package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

const dueRate = 200 // messages a second

// occupied has a handler of a second begin in each slot every second, while messages of other
// entities, which are sent ahead, come due at random milliseconds. These take no time.
func occupied(seed uint64, width int, rate float64, during time.Duration) (p workPlan) {
	random := rand.New(rand.NewPCG(seed, 5))
	for _, at := range poisson(random, rate, during-time.Second) {
		p.add(piece{at: time.Second + at.Truncate(time.Millisecond)}, fmt.Sprintf("due-%d", len(p.pieces)))
	}
	p.ahead = len(p.pieces)
	slot := make([][]string, width)
	for s := range width {
		slot[s] = inSlot(s, width, int(during/time.Second))
	}
	for second := range int(during / time.Second) {
		for s := range width {
			at := time.Duration(second)*time.Second + time.Duration(s)*time.Second/time.Duration(width)
			p.add(piece{at: at, takes: time.Second}, slot[s][second])
		}
	}
	return p
}

// due has messages come due while a handler of a second runs in each slot.
func (r *workRun) due() error {
	plan := occupied(r.work.seed, usual, dueRate, max(r.sending(), 3*time.Second))
	c := &workCell{handling: "due", percent: 25, workers: workers{n: 1, places: workPlaces, slots: usual}}
	result, err := r.workRound(r.p, workRound{workers: c.workers, plan: plan, grace: workGrace})
	if err != nil {
		return err
	}
	c.take(result, result.waits(result.end, func(i int) bool { return i < plan.ahead }))
	r.cells = append(r.cells, c)
	r.Text(`**Due while each slot has a handler of a second running:** %d a second, at random milliseconds, all sent before, with 16 slots. How late their handlers begin.`, dueRate)
	r.Table(workHeader, [][]string{c.row()})
	r.goals = append(r.goals, atMost(3, "ms", c.title()+": due while each slot has a handler of 1 s, late at p99", c.waits.ms(0.99)))
	r.Result("work_due_p99_ms", "%.1f", c.waits.ms(0.99))
	return nil
}
