package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
)

// contestant is one way to do the same work.
type contestant struct {
	name, title string
	run         func() (servers.Sample, error)
	all         []servers.Sample
}

// interleave runs the rounds of all in turns.
func (b *bench) interleave(contestants []*contestant, rounds int) error {
	defer b.progress.Done()
	for round := range rounds {
		for _, c := range contestants {
			one, err := c.run()
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", c.name, round+1, err)
			}
			c.all = append(c.all, one)
			b.progress.Say("round %d/%d  %-16s %9s msg/s", round+1, rounds, c.name, report.Count(one.Rate()))
		}
	}
	return nil
}

// compare prints the medians of each, per message.
func (b *bench) compare(contestants []*contestant) {
	var rows [][]string
	for _, c := range contestants {
		m := summarize(c.all)
		rows = append(rows, []string{
			c.title, report.Round(m.rate), report.Round(m.least) + " .. " + report.Round(m.most), fmt.Sprintf("%.2f", m.redis),
			fmt.Sprintf("%.0f %%", 100*m.busy), fmt.Sprintf("%.2f", m.client), fmt.Sprintf("%.2f", m.commands), fmt.Sprintf("%.2f", m.mallocs),
		})
	}
	b.Table([]string{"", "messages/s", "least .. most", "Redis µs", "Redis core", "client µs", "commands", "allocations"}, rows)
}

// summary holds the medians of a contestant's rounds, per message.
type summary struct {
	rate, least, most, redis, busy, client, commands, mallocs float64
}

func summarize(all []servers.Sample) (m summary) {
	rates := column(all, servers.Sample.Rate)
	m.rate, m.least, m.most = rates[len(all)/2], rates[0], rates[len(all)-1]
	m.busy = column(all, servers.Sample.Busy)[len(all)/2]
	m.redis = column(all, redisMicros)[len(all)/2]
	m.client = column(all, clientMicros)[len(all)/2]
	m.commands = perMessage(all, func(s servers.Sample) float64 { return float64(s.Redis.Commands) })
	m.mallocs = perMessage(all, func(s servers.Sample) float64 { return float64(s.Mallocs) })
	return m
}

// perMessage is the median of what a message cost.
func perMessage(all []servers.Sample, of func(servers.Sample) float64) float64 {
	return column(all, func(s servers.Sample) float64 { return of(s) / float64(s.Messages) })[len(all)/2]
}

// redisMicros is how much CPU of Redis a message cost, in microseconds.
func redisMicros(s servers.Sample) float64 {
	return float64(s.Redis.CPU.Nanoseconds()) / 1000 / float64(s.Messages)
}

// clientMicros is how much CPU of the clients a message cost, in microseconds.
func clientMicros(s servers.Sample) float64 {
	return float64(s.Client.Nanoseconds()) / 1000 / float64(s.Messages)
}

// pairs are how many times as large one figure is with ours as with theirs, of each pair
// of rounds.
func pairs(ours, theirs *contestant, of func(servers.Sample) float64) (ratios []float64) {
	for i, one := range ours.all {
		ratios = append(ratios, of(one)/of(theirs.all[i]))
	}
	return ratios
}

// medianOf is the median of one figure of all rounds.
func medianOf[R any](rounds []R, of func(R) float64) float64 {
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = of(r)
	}
	return median(values)
}

func median(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// column is one figure of all rounds, sorted.
func column(all []servers.Sample, of func(servers.Sample) float64) []float64 {
	values := make([]float64, len(all))
	for i, s := range all {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values
}

// step returns what tells of the progress of something long.
func (b *bench) step(label string, total int) func(done int) {
	begun := time.Now()
	return func(done int) { b.progress.Bar(label, begun, done, total) }
}
