package main

import (
	"fmt"
	"time"
)

const (
	failShare   = 0.1
	failBackoff = time.Second
)

// failing has a tenth of the messages fail the first time. A load of as many percent has the second handlers in it.
func (r *workRun) failing() error {
	h := handlingNamed("exp")
	plan := newWorkPlan(r.work.seed, h, h.rate(workPlaces, h.loads[0])/(1+failShare), r.sending())
	plan.failing(r.work.seed, failShare)
	var rows [][]string
	worst := 0.0
	for _, who := range contestants(1) {
		who.backoff = failBackoff
		c := &workCell{handling: "failing", percent: h.loads[0], workers: who}
		result, err := r.workRound(r.p, workRound{workers: who, plan: plan, grace: workGrace})
		if err != nil {
			return fmt.Errorf("%s: %w", c.title(), err)
		}
		c.take(result, result.waits(result.end, nil))
		r.cells = append(r.cells, c)
		late := result.retries(failBackoff, result.end)
		rows = append(rows, append(c.row(), fmt.Sprintf("%.1f", late.ms(0.5)), fmt.Sprintf("%.1f", late.ms(0.99)), fmt.Sprint(len(late))))
		if who.slots > 0 {
			r.goals = append(r.goals, atMost(10, "ms", c.title()+": 10 % fail, a retry's start after its time, p99", late.ms(0.99)))
			worst = max(worst, late.ms(0.99))
		}
	}
	r.Text(`**A tenth of the handlers fail** the first time, at random, and come again after %v; handlers take %s. The wait is that of the first deliveries. A retry is late from the end of the
		first handler and that pause on. asynq looks every 10 ms for retries, too, whose times it keeps in whole seconds.`, failBackoff, h.title)
	r.Table(append(workHeader, "retry late, p50", "p99", "retries"), rows)
	r.Result("work_retry_p99_ms", "%.1f", worst)
	return nil
}
