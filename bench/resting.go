package main

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/rmq"
)

const (
	restTopics = 1000
	restTook   = time.Minute // two safety looks
)

// resting compares a worker whose topics have plans, none of them due, with one whose topics have none.
func (b *bench) resting() error {
	plans := []int{0, restTopics}
	samples, errs := make([]servers.Sample, len(plans)), make(chan error, len(plans))
	for i, n := range plans {
		p, err := b.fleet.Apart(1)
		if err != nil {
			return err
		}
		r := b.request("rest", p, usual, 1)
		r.Topics, r.Plans = restTopics, n
		go func() {
			got, err := b.inChild(b.self, r)
			samples[i] = got.Sample
			errs <- err
		}()
	}
	b.progress.Say("a worker rests for %v …", restTook)
	for range plans {
		if err := <-errs; err != nil {
			return err
		}
	}
	b.progress.Done()
	var rows [][]string
	for i, title := range []string{"no plans", "a plan in each"} {
		s := samples[i]
		rows = append(rows, []string{title, fmt.Sprintf("%.1f", float64(s.Redis.Commands)/s.Took.Seconds()), fmt.Sprintf("%.2f %%", 100*s.Busy()),
			fmt.Sprintf("%.2f %%", 100*s.ClientBusy())})
	}
	b.Table([]string{"a resting worker of 1,000 topics", "commands/s", "Redis core", "client core"}, rows)
	return nil
}

// rest is a worker with nothing to do.
func (j job) rest() (a answer, err error) {
	rdb := j.place.Dial()[0]
	defer rdb.Close()
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		return a, err
	}
	nothing := rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return nil })
	for i := range j.Topics {
		topic := rmq.Topic{Name: fmt.Sprint("bench", i), Kind: rmq.KindFixedTime, Slots: j.Slots}
		if err := client.Listen(topic, nothing, rmq.ListenOptions{}); err != nil {
			return a, err
		}
		if i < j.Plans {
			const year = 365 * 24 * time.Hour
			if err := client.Every(ctx, topic, rmq.Recurring{Name: "report", Content: "report", Delay: year, Period: year}); err != nil {
				return a, err
			}
		}
	}
	if err := client.Start(ctx); err != nil {
		return a, err
	}
	time.Sleep(5 * time.Second) // what a start leaves to be done
	a.Sample, err = j.place.Measure(1, func() error {
		time.Sleep(restTook)
		return nil
	})
	if err == nil {
		err = client.Close(ctx)
	}
	return a, err
}
