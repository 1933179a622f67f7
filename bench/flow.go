package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/rmq"
)

var flowSection = section{
	name: "flow", title: "A bottleneck behind one topic, and its neighbour",
	about: `One worker with 64 places listens to two topics of 64 slots each. Of pictures there is always a backlog, and what is behind their
		handlers serves 8 at a time, 20 ms each, the others wait there. The neighbour gets 2,000 messages a second at
		random times, of 10 ms each (time.Sleep both). After 10 s the next 5 s are measured: how many handlers of pictures run at once, how many pictures are handled a
		second, and how long a message of the neighbour waits from the moment it was to be sent to the start of its handler, in milliseconds.`,
	run: (*bench).flows,
}

const (
	picturesAtOnce = 8

	// usualConcurrency is what a client has by default.
	usualConcurrency = 64
	pictureTakes     = 20 * time.Millisecond
	neighbourTakes   = 10 * time.Millisecond
	neighbourRate    = 2000
	flowSettles      = 10 * time.Second
)

// flowing is a contestant that may have a bottleneck behind one of two topics.
type flowing struct {
	contestant
	pictures *rmq.ListenOptions // nil: there are none
	late     rounds             // of the neighbour
	atOnce   [][]float64        // handlers of pictures, sorted
}

// bottleneck is what is behind the handlers of pictures.
type bottleneck struct {
	places         chan struct{}
	inside, served atomic.Int64
}

func (n *bottleneck) serve() {
	n.inside.Add(1)
	n.places <- struct{}{}
	time.Sleep(pictureTakes)
	<-n.places
	n.inside.Add(-1)
	n.served.Add(1)
}

func (b *bench) flows() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	cells, err := b.flowRounds(p)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, c := range cells {
		row := []string{c.title, "-", "-", "-"}
		if c.pictures != nil {
			at := func(share float64) float64 { return median(c.handlers(share)) }
			row = []string{c.title, fmt.Sprintf("%.0f", at(0.5)), fmt.Sprintf("%.0f .. %.0f", at(0.05), at(0.95)), report.Round(summarize(c.all).rate)}
		}
		rows = append(rows, append(row, fmt.Sprintf("%.1f", c.late.ms(0.5)), fmt.Sprintf("%.1f", c.late.ms(0.99)), c.late.spread(0.99)))
	}
	b.Table([]string{"", "handlers of pictures", "from 5 % to 95 % of the time", "pictures/s", "neighbour: p50", "p99", "least .. most"}, rows)
	return nil
}

// handlers are how many of pictures ran at once, in each round: what was not passed for
// a share of the time.
func (c *flowing) handlers(share float64) (all []float64) {
	for _, one := range c.atOnce {
		all = append(all, one[int(share*float64(len(one)))])
	}
	return all
}

// flowRounds measures all ways.
func (b *bench) flowRounds(p servers.Place) (cells []*flowing, err error) {
	var all []*contestant
	for _, c := range []*flowing{
		{contestant: contestant{title: "no pictures"}},
		{contestant: contestant{title: "as it is by default"}, pictures: &rmq.ListenOptions{}},
		{contestant: contestant{title: "64 handlers, and nothing to find out"}, pictures: &rmq.ListenOptions{Flow: rmq.Flow{Min: usualConcurrency}}},
		{contestant: contestant{title: "8 handlers, set by a person"}, pictures: &rmq.ListenOptions{Concurrency: picturesAtOnce}},
	} {
		c.name = c.title
		c.run = func() (servers.Sample, error) { return b.flow(p, c) }
		cells, all = append(cells, c), append(all, &c.contestant)
	}
	return cells, b.interleave(all, b.rounds)
}

// flow is a round; the messages of its sample are pictures.
func (b *bench) flow(p servers.Place, c *flowing) (result servers.Sample, err error) {
	if err := p.Empty(); err != nil {
		return result, err
	}
	measured := 5 * time.Second
	if b.quick {
		measured = 2 * time.Second
	}
	during := flowSettles + measured
	times := poisson(rand.New(rand.NewPCG(1, 0)), neighbourRate, during) // the same in all rounds
	pace := func(i int) time.Duration { return times[i] }
	texts := contents(len(times), b.payload)
	pictures := rmq.Topic{Name: "pictures", Kind: rmq.KindFixedTime, Slots: limits.DefaultSlots}
	neighbour := rmq.Topic{Name: "neighbour", Kind: rmq.KindFixedTime, Slots: limits.DefaultSlots}
	behind := &bottleneck{places: make(chan struct{}, picturesAtOnce)}
	rdb := p.Dial()[0]
	defer rdb.Close()
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		return result, err
	}
	var noted *arrivals
	err = client.Listen(neighbour, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		noted.note(d.Content)
		time.Sleep(neighbourTakes)
		return nil
	}), rmq.ListenOptions{})
	if err == nil && c.pictures != nil {
		err = b.backlogOfPictures(client, pictures, during)
	}
	if err == nil && c.pictures != nil {
		err = client.Listen(pictures, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error {
			behind.serve()
			return nil
		}), *c.pictures)
	}
	if err != nil {
		return result, err
	}
	noted = newArrivals(len(times), time.Now())
	if err := client.Start(ctx); err != nil {
		return result, err
	}
	begin := time.Now()
	noted.begin = begin
	watched := make(chan []float64, 1)
	var served int64
	go func() {
		time.Sleep(flowSettles)
		before, atOnce := behind.served.Load(), []float64(nil)
		for time.Since(begin) < during {
			time.Sleep(2 * time.Millisecond)
			atOnce = append(atOnce, float64(behind.inside.Load()))
		}
		served = behind.served.Load() - before
		slices.Sort(atOnce)
		watched <- atOnce
	}()
	result, err = p.Measure(0, func() error {
		return play(len(times), pace, begin, func(i int) error {
			_, err := client.Send(ctx, neighbour, rmq.FixedTime{Content: texts[i], At: time.Now()})
			return err
		})
	})
	c.atOnce = append(c.atOnce, <-watched)
	if err == nil {
		err = noted.wait()
	}
	if err == nil {
		err = client.Close(ctx)
	}
	if err == nil {
		err = noted.check()
	}
	c.late = append(c.late, noted.since(pace, func(i int) bool { return times[i] >= flowSettles }))
	result.Messages, result.Took = int(served), measured
	return result, err
}

// backlogOfPictures sends more than can be handled in some time.
func (b *bench) backlogOfPictures(client *rmq.Client, topic rmq.Topic, during time.Duration) error {
	messages := make([]rmq.Message, picturesAtOnce*int(during/pictureTakes)*5/4)
	for i := range messages {
		messages[i] = rmq.FixedTime{Content: content(i, b.payload), At: time.Now()}
	}
	_, err := client.SendBatch(ctx, topic, messages)
	return err
}
