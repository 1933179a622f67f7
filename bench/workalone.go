package main

import (
	"fmt"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

// aloneRates are so low that most messages have a turn for themselves.
var aloneRates = []int{100, 1000}

// alone is what Redis does for a message that comes alone, beside an older build if there is one.
func (r *workRun) alone() error {
	programs := []string{r.self}
	if r.before != "" {
		programs = append(programs, r.before)
	}
	var all []*contestant
	for _, rate := range aloneRates {
		for i, program := range programs {
			name := fmt.Sprintf("%s/s", report.Count(float64(rate)))
			if i > 0 {
				name += ", before"
			}
			all = append(all, &contestant{name: name, title: name, run: func() (servers.Sample, error) {
				q := r.request("paced", r.p, limits.DefaultSlots, 3*rate)
				q.Load = rate
				got, err := r.inChild(program, q)
				return got.Sample, err
			}})
		}
	}
	if err := r.interleave(all, r.rounds); err != nil {
		return err
	}
	r.Text("**A message alone:** at a steady rate, with handlers that do nothing and %d slots, in a process of its own; with -before also by an older build.", limits.DefaultSlots)
	r.compare(all)
	if r.before == "" {
		return nil
	}
	most := 0.0
	for i, rate := range aloneRates {
		ratios := pairs(all[2*i], all[2*i+1], redisMicros)
		r.goals = append(r.goals, atMost(1.2, "", fmt.Sprintf("%s/s: Redis µs of a message alone to the older build's", report.Count(float64(rate))), ratios...))
		most = max(most, median(ratios))
	}
	r.Result("work_alone", "%.2f", most)
	return nil
}
