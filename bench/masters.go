package main

import (
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
)

var mastersSection = section{
	name: "masters", title: "Wake-ups in a Cluster of many masters",
	about: `A topic of 64 slots on Clusters without replicas. Wake-ups stay at the master of their slots, and once more with a changed source that
		publishes them to all masters. Sent and handled at once: at 2,000 messages a second, where nearly each has a wake-up of its own, and as fast
		as it goes. Redis is all masters together; turns are calls of the script, bus are wake-ups that the masters pass on to each other, both for
		1000 messages. A wake-up that comes sooner has fewer messages in its turn, and so more turns.`,
	run: (*bench).masters,
}

var widely = []change{{"producer/wake.go", "return slot, now.After(n.widely) &&", "return slot, false &&"}}

func (b *bench) masters() error {
	changed, err := b.build(widely)
	if err != nil {
		return err
	}
	const rate = 2_000
	var all []*paced
	for _, masters := range []int{3, 6, 12} {
		p, err := b.fleet.Cluster(masters)
		if err != nil {
			return err
		}
		for _, offered := range []int{rate, 0} {
			speed, role, messages := "as fast as it goes", "both", b.messages/2
			if offered > 0 {
				speed, role, messages = report.Count(rate)+"/s", "paced", 3*rate
			}
			for i, program := range []string{b.self, changed} {
				r := b.request(role, p, wide, messages)
				r.Load = offered
				c := &paced{load: load{rate: offered}}
				c.name = fmt.Sprintf("%d masters, %s%s", masters, speed, []string{"", ", to all"}[i])
				c.run = func() (servers.Sample, error) {
					got, err := b.inChild(program, r)
					c.late = append(c.late, []time.Duration{got.P99})
					return got.Sample, err
				}
				all = append(all, c)
			}
		}
	}
	var contestants []*contestant
	for _, c := range all {
		contestants = append(contestants, &c.contestant)
	}
	if err := b.interleave(contestants, b.rounds); err != nil {
		return err
	}
	var rows [][]string
	for _, c := range all {
		per1000 := func(of func(servers.Counts) int64) string {
			return fmt.Sprintf("%.0f", perMessage(c.all, func(s servers.Sample) float64 { return 1000 * float64(of(s.Redis)) }))
		}
		p99, m := "", summarize(c.all)
		if c.rate > 0 {
			p99 = fmt.Sprintf("%.2f", c.late.ms(1))
		}
		rows = append(rows, []string{c.name, report.Round(m.rate), p99, fmt.Sprintf("%.2f", m.redis), fmt.Sprintf("%.2f", m.client),
			per1000(func(n servers.Counts) int64 { return n.Turns }),
			per1000(func(n servers.Counts) int64 { return n.Bus })})
	}
	b.Table([]string{"", "messages/s", "p99, ms", "Redis µs", "client µs", "turns", "bus"}, rows)
	return nil
}
