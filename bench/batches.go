package main

import (
	"fmt"
	"slices"

	"github.com/slotmq/go-rmq/bench/internal/report"
)

var batchesSection = section{
	name: "batches", title: "Batch sizes",
	about: `How many messages a turn takes at most. RMQ finds that out by itself, from how long the handlers take and how large the messages
		are: for handlers that only count it is 256. Here it is fixed, by a changed source with which the benchmark is built; each round is
		a process of its own. First a backlog in rising order is handled, of 300,000, or fewer for small batches; then messages are sent and
		handled at once, where a turn finds only the messages that have come since the last one. 16 slots.`,
	run: (*bench).batches,
}

func (b *bench) batches() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	var all []*contestant // for each size two
	add := func(title, program string, size int) {
		all = append(all,
			b.childContestant(title+", backlog", program, "drain", p, usual, min(standing, size*standing/8)),
			b.childContestant(title, program, "both", p, usual, min(b.messages, size*b.messages/16)))
	}
	for _, size := range []int{1, 4, 16, 64, 256} {
		b.progress.Say("building: batches of %d", size)
		changed, err := b.build(fixed(size))
		if err != nil {
			return err
		}
		add(fmt.Sprint(size), changed, size)
	}
	add("found by itself", b.self, standing)
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	var rows [][]string
	for ways := range slices.Chunk(all, 2) {
		row := []string{ways[1].title}
		for _, c := range ways {
			m := summarize(c.all)
			row = append(row, report.Round(m.rate), report.Round(m.least)+" .. "+report.Round(m.most), fmt.Sprintf("%.2f", m.redis), fmt.Sprintf("%.2f", m.client))
		}
		rows = append(rows, row)
	}
	b.Table([]string{"messages in a batch", "backlog: handled/s", "least .. most", "Redis µs", "client µs",
		"at once: messages/s", "least .. most", "Redis µs", "client µs"}, rows)
	one, most := summarize(all[0].all), summarize(all[2*4].all)
	b.Text("Handling a message of a backlog costs Redis %.1f times as much in batches of 1 as in batches of 256, and this process %.1f times.",
		one.redis/most.redis, one.client/most.client)
	return nil
}
