package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/rmq"
)

var polledSection = section{
	name: "polled", title: "Takes, one by one",
	about: `Takers of package poll take one message at a time and finish it, as workers in other languages do over HTTP: two round trips and two
		turns for each. A backlog is due already, of random priorities on 64 slots. With two processes, each message is finished by the one that has not
		given it. The last line is how many commands a second Redis gets while 100 takers wait.`,
	run: (*bench).polled,
}

const polledMessages, polledSlots = 20_000, 64

func (b *bench) polled() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	var all []*contestant
	for _, c := range []struct{ takers, pollers, most int }{{1, 1, 1}, {16, 1, 1}, {16, 2, 1}, {16, 1, 16}} {
		title := fmt.Sprintf("%d takers", c.takers)
		if c.takers == 1 {
			title = "1 taker"
		}
		if c.pollers > 1 {
			title += fmt.Sprintf(", %d processes", c.pollers)
		}
		if c.most > 1 {
			title += fmt.Sprintf(", batches of %d", c.most)
		}
		all = append(all, &contestant{name: title, title: title, run: func() (servers.Sample, error) {
			return b.takes(p, c.takers, c.pollers, c.most)
		}})
	}
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	b.compare(all)
	commands, err := b.idleTakers(p, 100)
	if err != nil {
		return err
	}
	b.Text("100 takers who wait: %.2f commands a second.", commands)
	b.Result("polled_idle_cmds", "%.2f", commands)
	return nil
}

// polledTopic is a topic that takers can take from, of which n messages wait.
func (b *bench) polledTopic(p servers.Place, rdb redis.UniversalClient, n int) (topic rmq.Topic, err error) {
	topic = rmq.Topic{Name: "bench", Kind: rmq.KindPriority, Slots: polledSlots}
	if err := p.Empty(); err != nil {
		return topic, err
	}
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		return topic, err
	}
	_, err = client.Send(ctx, topic, rmq.Priority{Content: content(0, b.payload), Priority: 17}) // which defines it
	if err := errors.Join(err, client.Close(ctx)); err != nil {
		return topic, err
	}
	return topic, fill(rdb, topic.Name, topic.Slots, 1, n-1, b.payload, func(i int) float64 { return float64(17 + i*7919%1000) }, nil)
}

// takes has takers take and finish until nothing is left.
func (b *bench) takes(p servers.Place, takers, processes, most int) (result servers.Sample, err error) {
	n := min(polledMessages*most, b.messages)
	if takers == 1 {
		n /= 4
	}
	rdb := p.Dial()[0]
	defer rdb.Close()
	topic, err := b.polledTopic(p, rdb, n)
	if err != nil {
		return result, err
	}
	ids, failed := newIdentities(n), make(chan error, takers)
	var pollers []*poll.Poller
	for range processes {
		one, err := poll.New(poll.Config{Redis: rdb})
		if err != nil {
			return result, err
		}
		pollers = append(pollers, one)
	}
	result, err = p.Measure(n, func() error {
		var working sync.WaitGroup
		for i := range takers {
			working.Go(func() { failed <- takeAll(pollers[i%processes], pollers[(i+1)%processes], topic.Name, most, ids) })
		}
		working.Wait()
		close(failed)
		for err := range failed {
			if err != nil {
				return err
			}
		}
		return nil
	})
	for _, one := range pollers {
		err = errors.Join(err, one.Close(ctx))
	}
	return result, errors.Join(err, ids.check())
}

// takeAll takes from one process and finishes at another one, until all has come.
func takeAll(from, at *poll.Poller, topic string, most int, ids *identities) error {
	for ids.left.Load() > 0 {
		held, err := from.Take(ctx, []string{topic}, poll.Take{Most: most})
		if err != nil {
			return err
		}
		if held == nil {
			continue // the last ones are in flight
		}
		for _, m := range held.Messages {
			ids.handled(m.Content)
		}
		if counted, err := at.Finish(ctx, held.Receipt); err != nil || !counted {
			return fmt.Errorf("finished: %v, %w", counted, err)
		}
	}
	return nil
}

// idleTakers is how many commands a second Redis gets while so many wait.
func (b *bench) idleTakers(p servers.Place, takers int) (float64, error) {
	rdb := p.Dial()[0]
	defer rdb.Close()
	topic, err := b.polledTopic(p, rdb, 1)
	if err != nil {
		return 0, err
	}
	one, err := poll.New(poll.Config{Redis: rdb})
	if err != nil {
		return 0, err
	}
	if err := takeAll(one, one, topic.Name, 1, newIdentities(1)); err != nil {
		return 0, err
	}
	var waiting sync.WaitGroup
	var came atomic.Int64
	for range takers {
		waiting.Go(func() {
			if held, _ := one.Take(ctx, []string{topic.Name}, poll.Take{Wait: time.Hour}); held != nil {
				came.Add(1)
			}
		})
	}
	time.Sleep(500 * time.Millisecond) // until they wait, and all slots were looked at
	b.progress.Say("100 takers wait …")
	nothing, _ := p.Measure(0, func() error {
		time.Sleep(time.Minute) // two safety looks
		return nil
	})
	b.progress.Done()
	err = one.Close(ctx)
	waiting.Wait()
	if came.Load() > 0 {
		err = errors.Join(err, fmt.Errorf("%d of them got something", came.Load()))
	}
	const own = 2 // commands that Measure itself sends
	return float64(nothing.Redis.Commands-own) / nothing.Took.Seconds(), err
}
