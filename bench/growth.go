package main

import (
	"fmt"
	"sync/atomic"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/rmq"
)

var growthSection = section{
	name: "growth", title: "Growth with the backlog",
	about: `So many messages wait on a topic of 256 slots, all of them due, added in random or in rising order. A worker starts, handles 100,000
		of them, and is closed; then as many are added in their place, by ZADDs of 64 in the same order. Every backlog has a Redis of its
		own, and the rounds of all are interleaved. Redis µs for each message: handling it, and adding it.`,
	run: (*bench).growth,
}

// backlog is a topic of a Redis of its own, on which many messages wait all the
// time.
type backlog struct {
	place   servers.Place
	topic   rmq.Topic
	size    int
	content int // bytes
	due     func(int) float64
	added   int // messages so far
	handled *identities
	filling servers.Sample
	adding  []servers.Sample
	bytes   float64 // of each message
}

const growthMessages = 100_000

func (b *bench) growth() error {
	orders := []struct {
		name string
		due  func() func(int) float64
	}{{"random", randomDue}, {"rising", risingDue}}
	var all []*contestant
	var logs []*backlog
	for _, size := range []int{10_000, 100_000, standing, 1_000_000, 10_000_000} {
		for _, order := range orders {
			title := report.Count(float64(size)) + ", " + order.name
			l, err := b.begin(title, size, b.payload, order.due())
			if err != nil {
				return err
			}
			logs = append(logs, l)
			all = append(all, &contestant{name: title, title: title, run: func() (servers.Sample, error) { return l.round(min(growthMessages, size/2)) }})
		}
	}
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	redis := map[string]float64{}
	var rows [][]string
	for i, c := range all {
		m, add := summarize(c.all), summarize(logs[i].adding)
		redis[c.title] = m.redis
		rows = append(rows, []string{c.title, report.Round(m.rate), report.Round(m.least) + " .. " + report.Round(m.most), fmt.Sprintf("%.2f", m.redis),
			fmt.Sprintf("%.0f %%", 100*m.busy), fmt.Sprintf("%.2f", add.redis), fmt.Sprintf("%.0f", logs[i].bytes)})
		for _, s := range logs[i].place.Servers {
			b.fleet.Release(s)
		}
	}
	b.Table([]string{"waiting", "handled/s", "least .. most", "Redis µs", "Redis core", "Redis µs, adding", "bytes"}, rows)
	random, rising := redis["10,000,000, random"]/redis["300,000, random"], redis["10,000,000, rising"]/redis["300,000, rising"]
	b.Text("From 300,000 to 10,000,000 waiting messages, handling one costs Redis %.2f times as much in random order, and %.2f times in rising order.", random, rising)
	b.Result("growth_random", "%.2f", random)
	return nil
}

// begin starts a Redis and fills it.
func (b *bench) begin(title string, size, content int, due func(int) float64) (*backlog, error) {
	place, err := b.fleet.Apart(1)
	if err != nil {
		return nil, err
	}
	l := &backlog{
		place: place, topic: rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge, Slots: 256}, size: size, content: content, due: due,
		handled: newIdentities(size + b.rounds*1_000_000), // more than are added in the rounds
	}
	before := place.Memory()
	l.filling, err = place.Measure(size, func() error { return l.add(size, b.step("filling "+title, size)) })
	if err != nil {
		return nil, fmt.Errorf("fill: %w", err)
	}
	l.bytes = float64(place.Memory()-before) / float64(size)
	return l, nil
}

// add adds n messages.
func (l *backlog) add(n int, step func(int)) error {
	rdb := l.place.Dial()[0]
	defer rdb.Close()
	err := fill(rdb, l.topic.Name, l.topic.Slots, l.added, n, l.content, l.due, step)
	l.added += n
	return err
}

// round handles some messages, and adds as many.
func (l *backlog) round(messages int) (servers.Sample, error) {
	rdb := l.place.Dial()[0]
	defer rdb.Close()
	var handled atomic.Int64
	enough := make(chan struct{})
	client, err := listening(rdb, l.topic, func(d *rmq.Delivery) {
		l.handled.handled(d.Content)
		if handled.Add(1) == int64(messages) {
			close(enough)
		}
	})
	if err != nil {
		return servers.Sample{}, err
	}
	result, err := l.place.Measure(messages, func() error {
		if err := client.Start(ctx); err != nil {
			return err
		}
		<-enough
		return client.Close(ctx)
	})
	if err != nil {
		return result, err
	}
	result.Messages = int(handled.Load())
	added, err := l.place.Measure(result.Messages, func() error { return l.add(result.Messages, nil) })
	l.adding = append(l.adding, added)
	if err == nil {
		err = l.check()
	}
	return result, err
}

// check fails unless everything waits that was added and not handled, and nothing
// was handled twice.
func (l *backlog) check() error {
	if again := l.handled.again.Load(); again > 0 {
		return fmt.Errorf("%d deliveries were not the first of their messages", again)
	}
	return holds(l.place, l.topic, l.added-l.handled.once())
}
