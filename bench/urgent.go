package main

import (
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
)

var urgentSection = section{
	name: "urgent", title: "Urgent messages among slow ones",
	about: `Every handler takes 1 ms (time.Sleep, which takes a little longer), and 16 slots allow 16 handlers at a time. Every hundredth
		message has a higher priority than the others. They are sent at a fixed rate for 2.5 s, as in the table paced: one rate that can be
		handled, and one that cannot; there the whole backlog is handled before the round is over. Milliseconds from the moment a message
		was to be sent to the start of its handler.`,
	run: (*bench).urgent,
}

func (b *bench) urgent() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	type loaded struct {
		contestant
		load
		late, urgent rounds
	}
	var cells []*loaded
	var all []*contestant
	for _, rate := range []int{8_000, 20_000} {
		c := &loaded{load: load{slots: usual, rate: rate, messages: rate * 5 / 2, oneIn: 100, takes: time.Millisecond}}
		c.name = report.Count(float64(rate)) + "/s"
		c.run = func() (servers.Sample, error) {
			o, err := b.offer(p, c.load)
			if err == nil {
				c.late, c.urgent = append(c.late, o.since(c.pace, nil)), append(c.urgent, o.since(c.pace, c.isUrgent))
			}
			return o.Sample, err
		}
		cells, all = append(cells, c), append(all, &c.contestant)
	}
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	var rows [][]string
	for _, c := range cells {
		m := summarize(c.all)
		rows = append(rows, []string{c.name, report.Round(m.rate), fmt.Sprintf("%.1f", c.late.ms(0.5)), fmt.Sprintf("%.1f", c.late.ms(0.99)),
			fmt.Sprintf("%.1f", c.urgent.ms(0.5)), fmt.Sprintf("%.1f", c.urgent.ms(0.99)), c.urgent.spread(0.99), fmt.Sprintf("%.0f %%", 100*m.busy)})
	}
	b.Table([]string{"offered", "handled/s", "all: p50", "p99", "urgent: p50", "p99", "least .. most", "Redis core"}, rows)
	over := cells[len(cells)-1]
	b.Text("Under overload an urgent message waits %.1f ms at p99, while the others wait for up to %.1f s.", over.urgent.ms(0.99), over.late.worst()/1000)
	return nil
}
