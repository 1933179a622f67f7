package main

import (
	"fmt"
	"slices"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
)

var slotsSection = section{
	name: "slots", title: "Numbers of slots",
	about: `One worker has all slots of the topic. Messages are sent and handled at once, by 256 callers of Send and by 2048, who each wait for
		their receipts: with few callers and many slots, few messages wait in a slot when its turn comes, and the turn costs the same. Then
		a backlog of 300,000 in rising order is handled.`,
	run: (*bench).widths,
}

func (b *bench) widths() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	crowd := *b
	crowd.callers *= 8
	widths := []int{16, 64, 256, 1024}
	var all []*contestant // three for each
	for _, slots := range widths {
		add := func(what string, run func() (servers.Sample, error)) {
			all = append(all, &contestant{name: fmt.Sprintf("%d %s", slots, what), run: run})
		}
		add("few callers", func() (servers.Sample, error) { return b.bothRMQ(p, slots, b.messages/4) })
		add("many callers", func() (servers.Sample, error) { return crowd.bothRMQ(p, slots, b.messages/4) })
		add("backlog", func() (servers.Sample, error) {
			s, _, err := b.drain(p, slots, standing, risingDue())
			return s, err
		})
	}
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	var rows [][]string
	for ways := range slices.Chunk(all, 3) {
		row := []string{fmt.Sprint(widths[len(rows)])}
		for _, c := range ways {
			m := summarize(c.all)
			row = append(row, report.Round(m.rate), report.Round(m.least)+" .. "+report.Round(m.most), fmt.Sprintf("%.2f", m.redis))
		}
		rows = append(rows, row)
	}
	few, many := fmt.Sprintf("%d callers: messages/s", b.callers), fmt.Sprintf("%d callers: messages/s", crowd.callers)
	b.Table([]string{"slots", few, "least .. most", "Redis µs", many, "least .. most", "Redis µs", "backlog: handled/s", "least .. most", "Redis µs"}, rows)
	at := func(i int) float64 { return summarize(all[i].all).rate }
	b.Text("With %d slots, messages pass %.2f times as fast as with %d if there are %d callers, and %.2f times as fast if there are %d.",
		widths[2], at(6)/at(0), widths[0], b.callers, at(7)/at(1), crowd.callers)
	return nil
}
