package main

import (
	"fmt"

	"github.com/slotmq/go-rmq/bench/internal/report"
)

const zipfEntities = 1000

// zipf has entities of which some are asked for more often than they can be handled.
func (r *workRun) zipf() error {
	h := handlingNamed("exp")
	plan := newWorkPlan(r.work.seed, h, h.rate(workPlaces, h.loads[0]), r.sending())
	plan.zipf(r.work.seed, zipfEntities)
	var rows [][]string
	for _, n := range r.fleets() {
		for _, who := range contestants(n) {
			if who.slots == 0 {
				continue
			}
			c := &workCell{handling: "zipf", percent: h.loads[0], workers: who}
			result, err := r.workRound(r.p, workRound{workers: who, plan: plan, grace: workGrace})
			if err != nil {
				return fmt.Errorf("%s: %w", c.title(), err)
			}
			free := result.free()
			c.take(result, result.waits(result.end, func(i int) bool { return free[i] }))
			r.cells = append(r.cells, c)
			rows = append(rows, append(c.row(), fmt.Sprintf("%d of %d", len(c.waits), len(plan.pieces)*9/10)))
			r.goals = append(r.goals, atMost(10, "ms", c.title()+": entities by Zipf, p99 of one whose handler is free", c.waits.ms(0.99)))
		}
	}
	r.Text(`**%s entities, drawn by Zipf:** the first gets 13 %% of all messages, the second half as many, the third a third, and handlers take %s. An entity is the slot basis, and
		one handler of it may run; the first six get more than that can handle. The wait is that of messages whose entity had no other one waiting or running when they were to be sent.`, report.Count(zipfEntities), h.title)
	r.Table(append(workHeader, "messages"), rows)
	r.Result("work_zipf_p99_ms", "%.1f", r.worst("zipf", h.loads[0]))
	return nil
}
