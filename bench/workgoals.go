package main

import (
	"fmt"
	"math"
	"slices"
)

// verdict prints the goals that the parts which were measured have, and what they reached.
func (r *workRun) verdict() {
	all := slices.Concat(r.each(), r.together(), r.goals)
	if len(all) == 0 {
		return
	}
	var rows [][]string
	met := 0
	for _, g := range all {
		row := g.row()
		rows = append(rows, append(row[:3], row[4]))
		if g.met() {
			met++
		}
	}
	r.Text("**The goals.** Of a line about several rows the worst counts.")
	r.Table([]string{"", "goal", "measured", ""}, rows)
	r.Text("%d of %d goals are met.", met, len(all))
	r.Result("work_met", "%.2f", float64(met)/float64(len(all)))
}

// asynq is its row beside one of RMQ's, or nil.
func (r *workRun) asynq(c *workCell) *workCell {
	beside := slices.IndexFunc(r.cells, func(a *workCell) bool {
		return a.handling == c.handling && a.percent == c.percent && a.n == c.n && a.slots == 0
	})
	if c.slots == 0 || beside < 0 {
		return nil
	}
	return r.cells[beside]
}

// ratio is how many times as long a message of ours waits as one of theirs, at the share.
func ratio(ours, theirs *workCell, share float64) float64 {
	return ours.waits.ms(share) / max(theirs.waits.ms(share), 0.001)
}

// worst is the largest p99 of RMQ's rows of a part at its usual load.
func (r *workRun) worst(part string, percent int) (most float64) {
	for _, c := range r.cells {
		if c.handling == part && c.percent == percent && c.slots > 0 {
			most = max(most, c.waits.ms(0.99))
		}
	}
	return most
}

// each are the goals of single rows.
func (r *workRun) each() (goals []goal) {
	for _, c := range r.cells {
		what := c.handling + ", " + c.title() + ": "
		bounds := map[string]float64{"exp": 10, "bimodal": 25}
		if c.n == 1 {
			bounds = map[string]float64{"exp": 5, "bimodal": 15, "failing": 5}
		}
		bound := bounds[c.handling]
		if c.handling == "rare" {
			bound = 10
		}
		if c.slots == 0 || c.percent != 70 && c.handling != "rare" {
			continue
		}
		if theirs := r.asynq(c); theirs != nil && c.n == 1 && c.percent == 70 && c.handling != slowHandling.name {
			goals = append(goals, atMost(1/1.5, "", what+"p99 to asynq's", ratio(c, theirs, 0.99)), atMost(1/3.0, "", what+"p50 to asynq's", ratio(c, theirs, 0.5)))
		}
		if bound > 0 {
			goals = append(goals, atMost(bound, "ms", what+"p99", c.waits.ms(0.99)))
		}
	}
	return goals
}

// together are the goals of all rows of a part at a load, whatever number of workers: the worst counts.
func (r *workRun) together() (goals []goal) {
	type line struct {
		handling string
		percent  int
	}
	var lines []line
	waits, rates := map[line]float64{}, map[line]float64{}
	for _, c := range r.cells {
		theirs := r.asynq(c)
		if theirs == nil {
			continue
		}
		l := line{c.handling, c.percent}
		if !slices.Contains(lines, l) {
			lines = append(lines, l)
			rates[l] = math.Inf(1)
		}
		waits[l] = max(waits[l], ratio(c, theirs, 0.99))
		if c.backlog > 0 {
			rates[l] = min(rates[l], c.backlog/theirs.backlog)
		}
	}
	for _, l := range lines {
		what := fmt.Sprintf("%s, %d %%: ", l.handling, l.percent)
		goals = append(goals, atMost(1, "", what+"p99 to asynq's", waits[l]))
		if !math.IsInf(rates[l], 1) {
			goals = append(goals, atLeast(1, "", what+"rate of a backlog to asynq's", rates[l]))
		}
		if l.percent == 70 {
			r.Result("work_"+l.handling+"_vs_asynq", "%.2f", waits[l])
		}
	}
	return goals
}
