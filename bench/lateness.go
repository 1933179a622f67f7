package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hibiken/asynq"

	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/rmq"
)

var latenessSection = section{
	name: "lateness", title: "Lateness of messages that are due at a known time", quick: true,
	about: `A worker runs, and messages for fixed times are sent by SendBatch, all before the first is due: 200 at every whole second, or 200 a
		second at random milliseconds. Lateness is the time from the due time of a message to the start of its handler, by the wall clock of
		this machine, which is the server's, too; a handler that starts before that time is early. Milliseconds; medians of the rounds, but
		the maximum and the early ones are those of all rounds. Redis's core and the commands of each message include the start of the
		worker and the sending. asynq has ProcessAt, which keeps whole seconds, and looks for due tasks every 5 s by default.`,
	run: (*bench).lateness,
}

const duePerSecond = 200

// punctual is a contestant and how late its messages were.
type punctual struct {
	contestant
	late rounds
}

func (b *bench) lateness() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	var all []*punctual
	add := func(name string, round func(dues []time.Time) (servers.Sample, latencies, error)) (them []*contestant) {
		for _, at := range []string{"whole seconds", "milliseconds"} {
			c := &punctual{contestant: contestant{name: name + ", " + at, title: name + ", " + at}}
			c.run = func() (servers.Sample, error) {
				s, late, err := round(b.dues(at == "whole seconds"))
				c.late = append(c.late, late)
				return s, err
			}
			all, them = append(all, c), append(them, &c.contestant)
		}
		return them
	}
	ours := func(slots int) func([]time.Time) (servers.Sample, latencies, error) {
		return func(dues []time.Time) (servers.Sample, latencies, error) { return b.lateRMQ(p, slots, dues) }
	}
	theirs := func(check time.Duration) func([]time.Time) (servers.Sample, latencies, error) {
		return func(dues []time.Time) (servers.Sample, latencies, error) { return b.lateAsynq(p, check, dues) }
	}
	contestants, most := add("RMQ, 16 slots", ours(usual)), 3
	if b.quick { // whole seconds only, which are the harder case
		contestants, all = contestants[:1], all[:1]
	} else {
		contestants, most = append(contestants, add("RMQ, 256 slots", ours(256))...), b.rounds
	}
	if err := b.interleave(contestants, most); err != nil {
		return err
	}
	if !b.quick { // which is late by seconds, so that two rounds are enough
		others := append(add("asynq", theirs(0)), add("asynq, check every 1 s", theirs(time.Second))...)
		if err := b.interleave(others, min(2, b.rounds)); err != nil {
			return err
		}
	}
	early := 0
	var rows [][]string
	for i, c := range all {
		n, of := c.late.early()
		if i < len(contestants) {
			early += n
		}
		m := summarize(c.all)
		rows = append(rows, []string{c.title, fmt.Sprintf("%.2f", c.late.ms(0.5)), fmt.Sprintf("%.2f", c.late.ms(0.99)), c.late.spread(0.99),
			fmt.Sprintf("%.2f", c.late.worst()), fmt.Sprintf("%d of %d", n, of), fmt.Sprintf("%.1f %%", 100*m.busy), fmt.Sprintf("%.1f", m.commands)})
	}
	b.Table([]string{"", "late p50", "p99", "least .. most", "maximum", "early", "Redis core", "commands"}, rows)
	most99 := max(all[0].late.ms(0.99), all[min(1, len(all)-1)].late.ms(0.99))
	b.Text("RMQ is at most %.1f ms late at p99 on 16 slots, and started %d of all messages early.", most99, early)
	b.Result("late_p99_ms", "%.1f", most99)
	b.Result("early", "%.0f", float64(early))
	return nil
}

// dues are the times of a round, from the next whole second that leaves enough
// time to send.
func (b *bench) dues(whole bool) []time.Time {
	seconds := 5
	if b.quick {
		seconds = 2
	}
	first := time.Now().Add(300 * time.Millisecond).Truncate(time.Second).Add(time.Second)
	all := make([]time.Time, seconds*duePerSecond)
	for i := range all {
		in := time.Duration(i/duePerSecond) * time.Second
		if !whole {
			in = time.Duration(rand.IntN(1000*seconds)) * time.Millisecond
		}
		all[i] = first.Add(in)
	}
	return all
}

// lateRMQ sends a message for each time, and reports how late they are handled.
func (b *bench) lateRMQ(p servers.Place, slots int, dues []time.Time) (result servers.Sample, late latencies, err error) {
	if err := p.Empty(); err != nil {
		return result, nil, err
	}
	begin := time.Now().Round(0) // without the monotonic clock: the wall clock is what counts
	noted := newArrivals(len(dues), begin)
	topic := rmq.Topic{Name: "bench", Kind: rmq.KindFixedTime, Slots: slots}
	messages := make([]rmq.Message, len(dues))
	for i := range messages {
		messages[i] = rmq.FixedTime{Content: content(i, b.payload), At: dues[i]}
	}
	rdb := p.Dial()[0]
	defer rdb.Close()
	client, err := listening(rdb, topic, func(d *rmq.Delivery) { noted.note(d.Content) })
	if err != nil {
		return result, nil, err
	}
	result, err = handleAll(p, client, noted.identities, func() error {
		_, err := client.SendBatch(ctx, topic, messages)
		return err
	})
	return result, noted.since(func(i int) time.Duration { return dues[i].Sub(begin) }, nil), err
}

// lateAsynq is the same with asynq, which looks for due tasks every so often.
func (b *bench) lateAsynq(p servers.Place, check time.Duration, dues []time.Time) (result servers.Sample, late latencies, err error) {
	if err := p.Empty(); err != nil {
		return result, nil, err
	}
	begin := time.Now().Round(0)
	noted := newArrivals(len(dues), begin)
	texts := contents(len(dues), b.payload)
	opt := asynq.RedisClientOpt{Addr: p.Servers[0].Addr, PoolSize: 100}
	client := asynq.NewClient(opt)
	defer client.Close()
	server := asynq.NewServer(opt, asynq.Config{Concurrency: asynqWorkers, DelayedTaskCheckInterval: check, LogLevel: asynq.FatalLevel})
	result, err = p.Measure(len(dues), func() error {
		err := server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
			noted.note(string(t.Payload()))
			return nil
		}))
		if err == nil {
			err = each(len(dues), asynqWorkers, func(i int) error {
				_, err := client.Enqueue(asynq.NewTask("bench", []byte(texts[i])), asynq.ProcessAt(dues[i]))
				return err
			})
		}
		if err == nil {
			err = noted.wait()
		}
		return err
	})
	server.Shutdown()
	if err == nil {
		err = noted.check()
	}
	return result, noted.since(func(i int) time.Duration { return dues[i].Sub(begin) }, nil), err
}
