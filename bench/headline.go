package main

import (
	"fmt"
	"slices"

	"github.com/slotmq/go-rmq/bench/internal/servers"
)

// headline is how RMQ and asynq compare in one run. The rounds of a run come in pairs,
// one of each shortly after the other, since a machine's speed moves meanwhile.
type headline struct {
	pairs               []float64 // RMQ's rate to asynq's, of each pair of rounds
	median, least, most float64   // of those
	redis, client       float64   // how many times as much CPU asynq takes for a message
	against             string    // which asynq
}

// compareWith makes the headline of the rounds that two contestants have behind them.
func compareWith(ours, theirs *contestant) headline {
	r, a := summarize(ours.all), summarize(theirs.all)
	h := headline{redis: a.redis / r.redis, client: a.client / r.client, against: theirs.title, pairs: pairs(ours, theirs, servers.Sample.Rate)}
	h.median, h.least, h.most = median(h.pairs), slices.Min(h.pairs), slices.Max(h.pairs)
	return h
}

// fastest is the contestant with the highest median rate.
func fastest(all []*contestant) *contestant {
	return slices.MaxFunc(all, func(a, b *contestant) int {
		return int(column(a.all, servers.Sample.Rate)[len(a.all)/2] - column(b.all, servers.Sample.Rate)[len(b.all)/2])
	})
}

// headlines prints one line for each run, and what they say together.
func (b *bench) headlines(runs []headline) {
	var rows [][]string
	for i, h := range runs {
		row := []string{fmt.Sprint(i + 1), fmt.Sprintf("1/%.1f", h.redis), fmt.Sprintf("1/%.1f", h.client)}
		each := ""
		for _, ratio := range h.pairs {
			each += fmt.Sprintf(" %.1f", ratio)
		}
		rows = append(rows, append(row, fmt.Sprintf("%.1f", h.median), fmt.Sprintf("%.1f", h.least), each[1:], h.against))
	}
	b.Table([]string{"run", "Redis CPU", "client CPU", "median", "lowest", "times as many messages a second, each pair of rounds", "against"}, rows)
	least, most := slices.MinFunc(runs, byMedian), slices.MaxFunc(runs, byMedian)
	dearest := slices.MinFunc(runs, func(a, b headline) int { return int(1000 * (a.redis - b.redis)) })
	b.Text("A message costs Redis **1/%.0f** of the CPU that asynq's costs, or less, and its client 1/%.0f; RMQ sends and handles **%.1f to %.1f times as many "+
		"messages a second** (medians of %d runs). asynq does more for each task: it keeps a state, statistics and a retention.",
		dearest.redis, dearest.client, least.median, most.median, len(runs))
}

func byMedian(a, b headline) int { return int(1000 * (a.median - b.median)) }
