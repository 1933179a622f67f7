package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/rmq"
)

const pollSlots = 256

// loads are messages a second.
var loads = []int{1_000, 10_000, 30_000}

// polls compares being woken with looking at all slots all the time, and with turns that
// are not paced: it is under a load that can be held that pacing spares Redis.
func (b *bench) polls(p servers.Place) error {
	b.Text(`A steady load on 256 slots, of messages that are due at once, paced as in the table of ablations; and how many commands a second Redis had before, while
		there was nothing to do. The p99 is from the moment a message was to be sent to its handler. Pacing is what spares Redis here, and costs some milliseconds.
		Polling takes a turn each millisecond at every slot that has nothing to do, without wake-ups.`)
	b.progress.Say("building: not paced; polling")
	free, err := b.build(unpaced)
	if err != nil {
		return err
	}
	polls, err := b.build(polling)
	if err != nil {
		return err
	}
	ways := []struct{ title, program string }{
		{"woken (as it is)", b.self},
		{"not paced", free},
		{"polling with turns", polls},
	}
	var all []*contestant // each way with every load
	answers := map[string][]answer{}
	for _, load := range loads {
		for _, way := range ways {
			name := fmt.Sprintf("%s/s, %s", report.Count(float64(load)), way.title)
			all = append(all, &contestant{name: name, title: name, run: func() (servers.Sample, error) {
				r := b.request("paced", p, pollSlots, load)
				r.Load = load
				got, err := b.inChild(way.program, r)
				answers[name] = append(answers[name], got)
				return got.Sample, err
			}})
		}
	}
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	var rows [][]string
	for _, c := range all {
		m := summarize(c.all)
		var late, idle []float64
		for _, a := range answers[c.name] {
			late, idle = append(late, 1000*a.P99.Seconds()), append(idle, a.Idle)
		}
		slices.Sort(late)
		slices.Sort(idle)
		middle := len(late) / 2
		rows = append(rows, []string{c.title, fmt.Sprintf("%.0f %%", 100*m.busy), fmt.Sprintf("%.1f", m.redis), fmt.Sprintf("%.1f", m.client),
			fmt.Sprintf("%.1f", late[middle]), fmt.Sprintf("%.1f .. %.1f", late[0], late[len(late)-1]), report.Round(idle[middle])})
	}
	b.Table([]string{"messages", "Redis core", "Redis µs", "client µs", "p99 ms", "least .. most", "before: commands/s"}, rows)
	return nil
}

// paced does nothing for a while, and then sends a steady load and handles it.
func (j job) paced() (a answer, err error) {
	if a.Idle, err = j.idleCommands(); err != nil {
		return a, err
	}
	l := load{slots: j.Slots, rate: j.Load, messages: j.Messages}
	o, err := j.offer(j.place, l)
	if err != nil {
		return a, err
	}
	late := o.since(l.pace, nil)
	a.Sample, a.P99 = o.Sample, late[len(late)*99/100]
	return a, nil
}

// idleCommands is how many commands a second a worker sends that has nothing to do.
func (j job) idleCommands() (float64, error) {
	if err := j.place.Empty(); err != nil {
		return 0, err
	}
	rdb := j.place.Dial()[0]
	defer rdb.Close()
	client, err := listening(rdb, rmq.Topic{Name: "bench", Kind: rmq.KindPriority, Slots: j.Slots}, func(*rmq.Delivery) {})
	if err == nil {
		err = client.Start(ctx)
	}
	if err != nil {
		return 0, err
	}
	time.Sleep(300 * time.Millisecond) // the first look at all slots
	nothing, _ := j.place.Measure(0, func() error {
		time.Sleep(time.Second / 2)
		return nil
	})
	const own = 2 // commands that Measure itself sends
	return float64(nothing.Redis.Commands-own) / nothing.Took.Seconds(), client.Close(ctx)
}
