package main

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

const (
	crowdSize   = 9000
	crowdOthers = 63
	crowdGrace  = 2 * time.Second
)

// crowd is n messages of one entity that are due at once, and others entities of the same slot
// that send a message a second each.
func crowd(seed uint64, width, n, others int, during, takes time.Duration) (p workPlan) {
	p.names = inSlot(0, width, others+1)
	p.pieces, p.ahead = slices.Repeat([]piece{{takes: takes}}, n), n
	random := rand.New(rand.NewPCG(seed, 4))
	for _, at := range poisson(random, float64(others), during) {
		p.pieces = append(p.pieces, piece{at: at, takes: takes, entity: 1 + random.IntN(others)})
	}
	return p
}

// crowd has one entity fill a slot that others use.
func (r *workRun) crowd() error {
	plan := crowd(r.work.seed, limits.DefaultSlots, crowdSize, crowdOthers, r.sending(), 20*time.Millisecond)
	c := &workCell{handling: "crowd", percent: 4, workers: workers{n: 1, places: workPlaces, slots: limits.DefaultSlots}}
	result, err := r.workRound(r.p, workRound{workers: c.workers, plan: plan, grace: crowdGrace})
	if err != nil {
		return err
	}
	c.take(result, result.waits(result.end, func(i int) bool { return i >= plan.ahead }))
	r.cells = append(r.cells, c)
	r.Text(`**A crowd in one slot:** %s messages of one entity are due, and %d others of its slot are sent one a second each; handlers of 20 ms. The wait is that of the others.`,
		report.Count(crowdSize), crowdOthers)
	r.Table(workHeader, [][]string{c.row()})
	r.goals = append(r.goals, atMost(50, "ms", c.title()+": 9,000 due of one entity, p99 of others in its slot", c.waits.ms(0.99)))
	r.Result("work_crowd_p99_ms", "%.1f", c.waits.ms(0.99))
	return nil
}
