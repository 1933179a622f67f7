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
	about: `A topic of 256 slots on which so many messages wait, all of them due, added in random or in rising order. A worker starts, handles
		100,000 of them, and is closed; then as many are added in their place, by ZADDs of 64 in the same order. Every backlog has a
		Redis of its own, and the rounds of all are interleaved. Redis µs for each message: handling it, and adding it.`,
	run: (*bench).growth,
}

// backlog is a topic on which many messages wait all the time.
type backlog struct {
	title   string
	place   servers.Place
	topic   rmq.Topic
	size    int
	content int // bytes
	due     func(int) float64
	filled  int // messages so far
	handled *identities
	bytes   float64 // of each message
	adding  []servers.Sample
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
			place, err := b.fleet.Apart(1)
			if err != nil {
				return err
			}
			l := &backlog{
				title: fmt.Sprintf("%s, %s", report.Count(float64(size)), order.name), place: place, size: size, due: order.due(), content: b.payload,
				topic: rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge, Slots: 256},
			}
			if err := b.begin(l, b.rounds); err != nil {
				return err
			}
			logs = append(logs, l)
			all = append(all, &contestant{name: l.title, title: l.title, run: func() (servers.Sample, error) { return l.round(min(growthMessages, l.size/2)) }})
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

// begin fills a backlog that is to last for some rounds.
func (b *bench) begin(l *backlog, rounds int) error {
	l.handled = newIdentities(l.size + (rounds+1)*2*growthMessages)
	before := l.place.Memory()
	if err := l.add(l.size, b.step("filling "+l.title, l.size)); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	l.bytes = float64(l.place.Memory()-before) / float64(l.size)
	return nil
}

// add adds n messages.
func (l *backlog) add(n int, step func(int)) error {
	rdb := l.place.Dial()[0]
	defer rdb.Close()
	err := fill(rdb, l.topic.Name, l.topic.Slots, l.filled, n, l.content, l.due, step)
	l.filled += n
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
	once := 0
	for i := range l.handled.seen {
		switch l.handled.seen[i].Load() {
		case 0:
		case 1:
			once++
		default:
			return fmt.Errorf("message %d was handled twice", i)
		}
	}
	return holds(l.place, l.topic, l.filled-once)
}
