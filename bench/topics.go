package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/rmq"
)

var topicsSection = section{
	name: "topics", title: "A worker of many topics",
	about: `A worker with default settings listens to topics of 16 slots each. Ten of them get messages of the kind Priority at a fixed rate,
		and the others get none. Each round is in a process of its own, whose core includes the senders and the worker: 6 s without
		messages, and then 6 s at each rate. "First" is the time from the call of Start until the handling of a message that was sent to the
		last of the topics before. In brackets: that many times the cost with ten topics. Medians of three rounds.`,
	run: (*bench).topics,
}

const (
	crowdSlots = 16
	crowdBusy  = 10 // topics that get messages
	crowdTook  = 6 * time.Second
)

// crowdRates are messages a second.
var crowdRates = []int{0, 5_000, 20_000}

// crowd is a worker of so many topics, with the rounds at each rate.
type crowd struct {
	topics int
	first  []time.Duration
	at     [][]servers.Sample
}

func (b *bench) topics() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	crowds := []*crowd{{topics: 10}, {topics: 10_000}}
	most := min(b.rounds, 3)
	for round := range most {
		for _, c := range crowds {
			r := b.request("crowd", p, crowdSlots, 0)
			r.Topics = c.topics
			a, err := b.inChild(b.self, r)
			if err != nil {
				return fmt.Errorf("%d topics, round %d: %w", c.topics, round+1, err)
			}
			c.first = append(c.first, a.First)
			if c.at == nil {
				c.at = make([][]servers.Sample, len(a.Rates))
			}
			for i, one := range a.Rates {
				c.at[i] = append(c.at[i], one)
			}
			b.progress.Say("round %d/%d  %s topics", round+1, most, report.Count(float64(c.topics)))
		}
	}
	b.progress.Done()
	var rows [][]string
	for i, rate := range crowdRates {
		few := summarize(crowds[0].at[i])
		for _, c := range crowds {
			slices.Sort(c.first)
			m := summarize(c.at[i])
			redis, client := m.busy, clientBusy(c.at[i])
			row := []string{fmt.Sprintf("%s/s, %s topics", report.Count(float64(rate)), report.Count(float64(c.topics))),
				fmt.Sprintf("%.2f s", c.first[len(c.first)/2].Seconds()), fmt.Sprintf("%.1f %%", 100*redis), fmt.Sprintf("%.1f %%", 100*client), "", ""}
			if rate > 0 {
				row[4] = fmt.Sprintf("%.1f (%.2f)", m.redis, m.redis/few.redis)
				row[5] = fmt.Sprintf("%.1f (%.2f)", m.client, m.client/few.client)
			}
			rows = append(rows, row)
		}
	}
	b.Table([]string{"", "first", "Redis core", "client core", "Redis µs", "client µs"}, rows)
	return nil
}

// crowd is a worker of many topics.
func (j job) crowd() (a answer, err error) {
	if err := j.place.Empty(); err != nil {
		return a, err
	}
	rdb := j.place.Dial()[0]
	defer rdb.Close()
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		return a, err
	}
	most := 0
	for _, rate := range crowdRates {
		most += rate * int(crowdTook.Seconds())
	}
	first, ids := make(chan struct{}), newIdentities(most)
	on := rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		if d.Content == "first" {
			close(first)
		} else {
			ids.handled(d.Content)
		}
		return nil
	})
	all := make([]rmq.Topic, j.Topics)
	for i := range all {
		all[i] = rmq.Topic{Name: fmt.Sprint("bench", i), Kind: rmq.KindPriority, Slots: j.Slots}
		if err := client.Listen(all[i], on, rmq.ListenOptions{}); err != nil {
			return a, err
		}
	}
	send := func(t rmq.Topic, content string) error {
		_, err := client.Send(ctx, t, rmq.Priority{Content: content, Priority: 100})
		return err
	}
	if err := send(all[len(all)-1], "first"); err != nil {
		return a, err
	}
	begin := time.Now()
	if err := client.Start(ctx); err != nil {
		return a, err
	}
	<-first
	a.First = time.Since(begin)
	time.Sleep(2 * time.Second) // what a start leaves to be done
	text, sent := contents(most, j.Payload), 0
	for _, rate := range crowdRates {
		l := load{rate: rate, messages: rate * int(crowdTook.Seconds())}
		one, err := j.place.Measure(l.messages, func() error {
			if rate == 0 {
				time.Sleep(crowdTook)
				return nil
			}
			return play(l.messages, l.pace, time.Now(), func(i int) error { return send(all[i%crowdBusy], text[sent+i]) })
		})
		if err != nil {
			return a, err
		}
		sent += l.messages
		a.Rates = append(a.Rates, one)
	}
	if err = ids.wait(); err == nil {
		err = client.Close(ctx)
	}
	if err == nil {
		err = ids.check()
	}
	return a, err
}
