package main

import (
	"fmt"
	"slices"
)

// contestant is one way to do the same work.
type contestant struct {
	name, title string
	run         func() (sample, error)
	all         []sample
}

// interleave runs the rounds of all in turns.
func interleave(contestants []*contestant, rounds int) error {
	for round := range rounds {
		for _, c := range contestants {
			one, err := c.run()
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", c.name, round+1, err)
			}
			c.all = append(c.all, one)
			fmt.Printf("round %d/%d  %-8s %9.0f msg/s\n", round+1, rounds, c.name, one.rate())
		}
	}
	return nil
}

// table prints the medians of each, per message.
func table(contestants []*contestant) {
	fmt.Printf("\n%-34s %12s %21s %10s %10s %9s\n", "median of the rounds", "msg/s", "[least .. most]", "Redis µs", "client µs", "commands")
	for _, c := range contestants {
		m := summarize(c.all)
		fmt.Printf("%-34s %12.0f %21s %10.2f %10.2f %9.2f\n", c.title, m.rate,
			fmt.Sprintf("[%.0f .. %.0f]", m.least, m.most), m.redis, m.client, m.commands)
	}
}

// summary holds the medians of a contestant's rounds, per message.
type summary struct {
	rate, least, most, redis, client, commands float64
}

func summarize(all []sample) (m summary) {
	rates := column(all, sample.rate)
	m.rate, m.least, m.most = rates[len(all)/2], rates[0], rates[len(all)-1]
	m.redis = perMessage(all, func(s sample) float64 { return float64(s.redis.cpu.Nanoseconds()) / 1000 })
	m.client = perMessage(all, func(s sample) float64 { return float64(s.client.Nanoseconds()) / 1000 })
	m.commands = perMessage(all, func(s sample) float64 { return float64(s.redis.commands) })
	return m
}

// perMessage is the median of what a message cost.
func perMessage(all []sample, of func(sample) float64) float64 {
	return column(all, func(s sample) float64 { return of(s) / float64(s.messages) })[len(all)/2]
}

// column is one figure of all rounds, sorted.
func column(all []sample, of func(sample) float64) []float64 {
	values := make([]float64, len(all))
	for i, s := range all {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values
}
