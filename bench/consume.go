package main

import (
	"math/rand/v2"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/rmq"
)

var consumeSection = section{
	name: "consume", title: "Handling a backlog", quick: true,
	about: `300,000 messages are due already when the worker starts; they were added in the order they are due, or in random order. asynq
		processes a backlog of its own with Concurrency 50.`,
	run: (*bench).consume,
}

const standing = 300_000

func (b *bench) consume() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	bytes := 0.0
	drain := func(order func() func(int) float64) func() (servers.Sample, error) {
		return func() (s servers.Sample, err error) {
			s, bytes, err = b.drain(p, usual, standing, order())
			return s, err
		}
	}
	random := &contestant{name: "RMQ random", title: "RMQ, random order", run: drain(randomDue)}
	rising := &contestant{name: "RMQ rising", title: "RMQ, rising order", run: drain(risingDue)}
	theirs := &contestant{name: "asynq", title: "asynq", run: func() (servers.Sample, error) {
		_, processed, err := b.apartAsynq(p, b.messages/20)
		return processed, err
	}}
	all := []*contestant{random, rising, theirs}
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	b.compare(all)
	x, y, a := summarize(random.all), summarize(rising.all), summarize(theirs.all)
	b.Text("%.1f times asynq in random and %.1f times in rising order.", x.rate/a.rate, y.rate/a.rate)
	b.Result("consume_vs_asynq", "%.1f", x.rate/a.rate)
	b.Result("bytes_100", "%.0f", bytes)
	return nil
}

// randomDue and risingDue return when message i is due: in the past.
func randomDue() func(int) float64 {
	now := time.Now().UnixMilli()
	return func(int) float64 { return float64(now - 1 - rand.Int64N(24*time.Hour.Milliseconds())) }
}

func risingDue() func(int) float64 {
	first := time.Now().Add(-24 * time.Hour).UnixMilli()
	return func(i int) float64 { return float64(first + int64(i)/4) } // 10^8 fit into a day
}

// drain handles a backlog to its end, and reports how many bytes each of its
// messages took before.
func (b *bench) drain(p servers.Place, slots, messages int, due func(int) float64) (result servers.Sample, bytes float64, err error) {
	if err := p.Empty(); err != nil {
		return result, 0, err
	}
	topic, ids := rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge, Slots: slots}, newIdentities(messages)
	rdb := p.Dial()[0]
	defer rdb.Close()
	before := p.Memory()
	if err := fill(rdb, topic.Name, topic.Slots, 0, messages, b.payload, due, nil); err != nil {
		return result, 0, err
	}
	bytes = float64(p.Memory()-before) / float64(messages)
	client, err := listening(rdb, topic, func(d *rmq.Delivery) { ids.handled(d.Content) })
	if err != nil {
		return result, 0, err
	}
	result, err = handleAll(p, client, ids, nil)
	return result, bytes, err
}
