package main

import (
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
)

var pacedSection = section{
	name: "paced", title: "From sending to handling, at a fixed rate", quick: true,
	about: `Messages are sent and handled at once, at a rate that does not depend on how fast they are handled: every millisecond a thousandth
		of a second's messages, below 1,000 a second one at a time, each by a goroutine of its own that calls Send. They are of the kind
		Priority, all with the same one, so that they are due at once. The time is from the moment a message was to be sent to the start of
		its handler, in milliseconds; it includes the delay of the sender itself, which the table also shows. 100 messages go first and do
		not count. Rounds of 3 s (1.5 s in -quick). The client's core includes the senders and the worker.`,
	run: (*bench).paced,
}

// paced is a contestant that has a load to send and to handle.
type paced struct {
	contestant
	load
	late, behind rounds
}

func (b *bench) paced() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	took, most := 3*time.Second, b.rounds
	loads := []load{{slots: usual, rate: 100}, {slots: usual, rate: 1_000}, {slots: usual, rate: 10_000}, {slots: usual, rate: 50_000},
		{slots: usual, rate: 100_000}, {slots: usual, rate: 200_000}, {slots: 256, rate: 10_000}, {slots: 256, rate: 50_000}}
	if b.quick {
		took, most, loads = 1500*time.Millisecond, 1, loads[3:4]
	}
	var cells []*paced
	var all []*contestant
	for _, l := range loads {
		c := b.pacedCell(p, l.slots, l.rate, took)
		cells, all = append(cells, c), append(all, &c.contestant)
	}
	if err := b.interleave(all, most); err != nil {
		return err
	}
	var rows [][]string
	for _, c := range cells {
		m := summarize(c.all)
		rows = append(rows, []string{c.name, fmt.Sprintf("%.2f", c.late.ms(0.5)), fmt.Sprintf("%.2f", c.late.ms(0.99)), c.late.spread(0.99),
			fmt.Sprintf("%.2f", c.late.ms(0.999)), fmt.Sprintf("%.2f", c.behind.ms(0.99)), fmt.Sprintf("%.0f %%", 100*m.busy),
			fmt.Sprintf("%.0f %%", 100*clientBusy(c.all)), fmt.Sprintf("%.2f", m.commands)})
		if c.rate == 50_000 && c.slots == usual {
			b.Result("paced50k_p99_ms", "%.1f", c.late.ms(0.99))
			b.Result("paced50k_core", "%.2f", m.busy)
		}
	}
	b.Table([]string{"offered", "p50", "p99", "least .. most", "p99.9", "sent late, p99", "Redis core", "client core", "commands"}, rows)
	for _, c := range cells {
		if m := summarize(c.all); m.rate < 0.98*float64(c.rate) {
			b.Text("The rate of %s was not held: %s messages a second came through.", c.name, report.Round(m.rate))
		}
	}
	return nil
}

// pacedCell is a contestant with so many messages a second.
func (b *bench) pacedCell(p servers.Place, slots, rate int, took time.Duration) *paced {
	c := &paced{load: load{slots: slots, rate: rate, messages: int(took.Seconds() * float64(rate))}}
	c.name = fmt.Sprintf("%s/s, %d slots", report.Count(float64(rate)), slots)
	c.run = func() (servers.Sample, error) {
		o, err := b.offer(p, c.load)
		if err == nil {
			c.late, c.behind = append(c.late, o.since(c.pace, nil)), append(c.behind, o.behind)
		}
		return o.Sample, err
	}
	return c
}

// clientBusy is the median share of a core.
func clientBusy(all []servers.Sample) float64 {
	return column(all, servers.Sample.ClientBusy)[len(all)/2]
}
