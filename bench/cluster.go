package main

import (
	"fmt"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
)

const (
	masters = 3
	wide    = 64 // slots, so that all masters have about the same work
	narrow  = 16 // slots of each server apart: a power of two, rather too few than too many
)

var clusterSection = section{
	name: "cluster", title: "A Cluster of three masters against one Redis",
	about: `Send and handle at once, one topic of 64 slots: on a Cluster of three masters without replicas, and on one Redis. The processors are
		the same, so the messages per second cannot grow; what counts is how many messages a second of Redis CPU handles, summed up over all
		servers. A third contestant shows what several servers on few processors cost without being a Cluster: three Redis that do not know
		each other, 16 slots each, with an RMQ client for each, and the benchmark divides the messages. Turns are calls of the script, reads
		are reads of the servers from their connections, bus are wake-ups that the nodes pass on to each other, all for 1000 messages. The
		callers wait for their receipts and are spread over the masters: with three times as many (the second table) each master has as many
		as the one Redis had.`,
	run: (*bench).cluster,
}

func (b *bench) cluster() error {
	starts := []func() (servers.Place, error){
		func() (servers.Place, error) { return b.fleet.Cluster(masters) },
		func() (servers.Place, error) { return b.fleet.Apart(1) },
		func() (servers.Place, error) { return b.fleet.Apart(masters) },
	}
	titles := []string{"Cluster", "one Redis", "three Redis apart"}
	var places []servers.Place
	for _, start := range starts {
		p, err := start()
		if err != nil {
			return err
		}
		places = append(places, p)
	}
	for _, more := range []int{1, masters} {
		crowd := *b
		crowd.callers *= more
		var all []*contestant
		for i, slots := range []int{wide, wide, narrow} {
			all = append(all, &contestant{name: titles[i], title: titles[i], run: func() (servers.Sample, error) {
				return crowd.bothRMQ(places[i], slots, crowd.messages)
			}})
		}
		if err := crowd.interleave(all, b.rounds); err != nil {
			return err
		}
		crowd.work(all)
		c, s, a := summarize(all[0].all), summarize(all[1].all), summarize(all[2].all)
		b.Text("With %d callers, a Cluster handles %.2f times as many messages in a second of Redis CPU as one Redis, and %.2f times as many as three Redis apart.",
			crowd.callers, s.redis/c.redis, a.redis/c.redis)
	}
	return nil
}

// work prints what the servers were asked, which explains what they cost.
func (b *bench) work(contestants []*contestant) {
	var rows [][]string
	for _, c := range contestants {
		per1000 := func(of func(servers.Counts) int64) string {
			return fmt.Sprintf("%.1f", perMessage(c.all, func(s servers.Sample) float64 { return 1000 * float64(of(s.Redis)) }))
		}
		m := summarize(c.all)
		rows = append(rows, []string{c.title, report.Round(m.rate), report.Round(m.least) + " .. " + report.Round(m.most), report.Round(1e6 / m.redis),
			fmt.Sprintf("%.2f", m.redis), fmt.Sprintf("%.2f", m.client),
			per1000(func(n servers.Counts) int64 { return n.Turns }),
			per1000(func(n servers.Counts) int64 { return n.Reads }),
			per1000(func(n servers.Counts) int64 { return n.Publishes }),
			per1000(func(n servers.Counts) int64 { return n.Bus }),
		})
	}
	b.Table([]string{fmt.Sprintf("%d callers of Send", b.callers), "messages/s", "least .. most", "messages / Redis CPU s", "Redis µs", "client µs",
		"turns", "reads", "publishes", "bus"}, rows)
}
