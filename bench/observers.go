package main

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqprom"
)

var observersSection = section{
	name: "observers", title: "What observers and metrics cost",
	about: `Send and handle at once, in turns and each round in a process of its own: without observers, with one that does nothing, and with the
		metrics of rmqprom and its middleware. Four times as many rounds as elsewhere, since the differences are small, and the medians of
		the ratios of pairs of rounds. With -before, the benchmark of an older commit takes part, too.`,
	run: (*bench).observers,
}

// watchers are the ways to observe a client, by their names in a request.
var watchers = map[string]func(*rmq.Config) error{
	"": func(*rmq.Config) error { return nil },
	"nothing": func(cfg *rmq.Config) error {
		cfg.Observers = []rmq.Observer{rmq.ObserverFunc(func(*rmq.Event) {})}
		return nil
	},
	"rmqprom": func(cfg *rmq.Config) error {
		metrics, err := rmqprom.New(rmqprom.Config{Registerer: prometheus.NewRegistry()})
		cfg.Observers, cfg.Middleware = []rmq.Observer{metrics}, []rmq.Middleware{metrics.Middleware}
		return err
	},
}

func (b *bench) observers() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	var all []*contestant
	add := func(title, program, watcher string, slots int) {
		r := b.request("both", p, slots, b.messages)
		r.Watcher = watcher
		all = append(all, &contestant{name: title, title: fmt.Sprintf("%s, %d slots", title, slots), run: func() (servers.Sample, error) {
			got, err := b.inChild(program, r)
			return got.Sample, err
		}})
	}
	var off []*contestant // of each contestant: what it is compared with
	for _, slots := range []int{usual, 64} {
		first := len(all)
		add("none", b.self, "", slots)
		if b.before != "" {
			add("before", b.before, "", slots)
		}
		add("one that does nothing", b.self, "nothing", slots)
		add("rmqprom", b.self, "rmqprom", slots)
		for range all[first:] {
			off = append(off, all[first])
		}
	}
	if err := b.interleave(all, 4*b.rounds); err != nil {
		return err
	}
	var rows [][]string
	for i, c := range all {
		m := summarize(c.all)
		rows = append(rows, []string{c.title, report.Round(m.rate), report.Round(m.least) + " .. " + report.Round(m.most),
			fmt.Sprintf("%.3f", median(pairs(c, off[i], servers.Sample.Rate))), fmt.Sprintf("%.2f", m.client), fmt.Sprintf("%.3f", median(pairs(c, off[i], clientMicros))),
			fmt.Sprintf("%.2f", m.redis), fmt.Sprintf("%.2f", m.mallocs)})
		if c.name == "rmqprom" && i < len(all)/2 {
			b.Result("metrics", "%.2f", median(pairs(c, off[i], servers.Sample.Rate)))
		}
	}
	b.Table([]string{"observers", "messages/s", "least .. most", "to none", "client µs", "to none", "Redis µs", "allocations"}, rows)
	return nil
}
