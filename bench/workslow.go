package main

import (
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

const (
	slowSends     = 20 * time.Second
	slowGrace     = 45 * time.Second
	slowSimulated = 50 * time.Minute // of messages, which takes no time
)

// slow is about handlers of seconds: many are simulated, and a few run.
func (r *workRun) slow() error {
	h := slowHandling
	r.simulate(h)
	if r.quick {
		return nil
	}
	plan := newWorkPlan(r.work.seed, h, h.rate(workPlaces, h.loads[0]), slowSends)
	all, errs := contestants(1), make(chan error, len(contestants(1)))
	cells := make([]*workCell, len(all))
	for i, who := range all { // all at once: they have so little to do that they do not disturb each other
		p, err := r.fleet.Apart(1)
		if err != nil {
			return err
		}
		defer r.fleet.Release(p.Servers[0])
		cells[i] = &workCell{handling: h.name, percent: h.loads[0], workers: who}
		go func() {
			result, err := r.workRound(p, workRound{workers: who, plan: plan, grace: slowGrace})
			if err == nil {
				cells[i].take(result, result.waits(result.end, nil))
			}
			errs <- err
		}()
	}
	for range all {
		if err := <-errs; err != nil {
			return err
		}
	}
	r.cells = append(r.cells, cells...)
	ideal := idealQueue{workers: 1, places: workPlaces}.waits(plan)
	rows := [][]string{append([]string{fmt.Sprintf("ideal, %d %%", h.loads[0])}, append(quantiles(ideal), "1", "", "", "", "")...)}
	for _, c := range cells {
		rows = append(rows, c.row())
	}
	r.Text("The same in a run of %v, %d messages, and %v for what is left; all contestants at once.", slowSends, len(plan.pieces), slowGrace)
	r.Table(workHeader, rows)
	return nil
}

// simulate compares queues that lose no time.
func (r *workRun) simulate(h handling) {
	plan := newWorkPlan(r.work.seed, h, h.rate(workPlaces, h.loads[0]), slowSimulated)
	var rows [][]string
	for _, n := range r.fleets() {
		width := 256
		if n == 1 {
			width = limits.DefaultSlots
		}
		q := idealQueue{workers: n, places: workPlaces / n}
		add := func(title string, q idealQueue) {
			rows = append(rows, append([]string{fmt.Sprintf("%d × %d, %s", n, q.places, title)}, quantiles(q.waits(plan))...))
		}
		add("one queue", q)
		q.slots, q.serial = width, true
		add(fmt.Sprintf("%d slots, one handler each", width), q)
		if q.serial = false; n > 1 {
			add(fmt.Sprintf("%d slots, any number of handlers", width), q)
			q.help = true
			add(fmt.Sprintf("%d slots, any number, and workers help", width), q)
		}
	}
	r.Text("**Handlers take %s**, simulated, by queues that lose no time, load %d %%, %d messages:", h.title, h.loads[0], len(plan.pieces))
	r.Table([]string{"", "p50", "p90", "p99", "max"}, rows)
}
