package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/rmq"
)

var bottleneckSection = section{
	name: "bottleneck", title: "One bottleneck behind several workers",
	about: `Workers with 64 places each handle a backlog of one topic on 64 slots. What is behind their handlers serves 8 at a time, 20 ms each; the
		others wait there (time.Sleep). As it is by default, measured for 10 s (3 s in -quick) after 90 s; and with nothing to find out, and the best Concurrency, 8
		divided by the workers, after 2 s. In the rows with an arrow workers come or go after 60 s, and 30 s later it is measured. In the last
		row there is no bottleneck: each handler takes 200 ms, and the best is 64 places each. How many handlers run at once, all together; what is handled a second; and how long a
		handler takes, in milliseconds.`,
	run: (*bench).bottlenecks,
}

const (
	teamSettles  = 90 * time.Second
	comeAndGo    = 60 * time.Second // of that
	splitSettles = 2 * time.Second
	aloneTakes   = 200 * time.Millisecond
)

// team is some workers before one bottleneck, or none.
type team struct {
	first, last int // workers, at first and while it is measured
	free        bool
	split       bool // no flow: the best that a person can set
	rounds      []teamRound
}

type teamRound struct{ inside, rate, p50, p99 float64 }

func (s *team) title() string {
	switch {
	case s.free:
		return fmt.Sprintf("%d, no bottleneck", s.last)
	case s.first != s.last:
		return fmt.Sprintf("%d → %d", s.first, s.last)
	}
	return fmt.Sprint(s.last)
}

func (b *bench) bottlenecks() error {
	place, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	var cells []*team
	for _, c := range []team{{first: 1, last: 1}, {first: 2, last: 2}, {first: 4, last: 4}, {first: 8, last: 8}, {first: 2, last: 4}, {first: 4, last: 2}, {first: 2, last: 2, free: true}} {
		found, split := c, c
		split.split, split.first = true, c.last
		cells = append(cells, &found, &split)
	}
	defer b.progress.Done()
	for round := range b.rounds {
		for _, c := range cells {
			r, err := b.team(place, c)
			if err != nil {
				return err
			}
			c.rounds = append(c.rounds, r)
			b.progress.Say("round %d  %s workers, split by a person %v: %.0f handlers, %.0f a second, p50 %.0f ms, p99 %.0f ms",
				round+1, c.title(), c.split, r.inside, r.rate, r.p50, r.p99)
		}
	}
	var rows [][]string
	for i := 0; i < len(cells); i += 2 {
		found, split := cells[i], cells[i+1]
		row := []string{found.title()}
		for _, of := range []func(teamRound) float64{
			func(r teamRound) float64 { return r.inside }, func(r teamRound) float64 { return r.rate },
			func(r teamRound) float64 { return r.p50 }, func(r teamRound) float64 { return r.p99 },
		} {
			row = append(row, report.Count(medianOf(found.rounds, of)), report.Count(medianOf(split.rounds, of)))
		}
		p50 := func(r teamRound) float64 { return r.p50 }
		rows = append(rows, append(row, fmt.Sprintf("%.2f", medianOf(found.rounds, p50)/medianOf(split.rounds, p50))))
	}
	b.Table([]string{"workers", "handlers", "best split", "messages/s", "best split", "p50", "best split", "p99", "best split", "p50: ratio"}, rows)
	return nil
}

// took is how long handlers took.
type took struct {
	mu  sync.Mutex
	all []float64 // ms
}

func (t *took) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, float64(d)/float64(time.Millisecond))
}

// team is a round of one of them.
func (b *bench) team(place servers.Place, s *team) (r teamRound, err error) {
	if err := place.Empty(); err != nil {
		return r, err
	}
	measured, settles := 10*time.Second, teamSettles
	if b.quick {
		measured = 3 * time.Second
	}
	if s.split || s.free && b.quick {
		settles = splitSettles
	}
	rdb := place.Dial()[0]
	defer rdb.Close()
	behind, times := &bottleneck{places: make(chan struct{}, picturesAtOnce)}, new(took)
	topic := rmq.Topic{Name: "bench", Kind: rmq.KindFixedTime, Slots: limits.DefaultSlots}
	options := rmq.ListenOptions{}
	if s.split {
		if options.Flow.Min = usualConcurrency; !s.free {
			options.Flow.Min = max(1, picturesAtOnce/s.last)
		}
		options.Concurrency = options.Flow.Min // so it has nothing to find out
	}
	var workers []*rmq.Client
	start := func() error {
		client, err := rmq.New(rmq.Config{Redis: rdb, Slog: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		workers = append(workers, client)
		err = client.Listen(topic, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error {
			begun := time.Now()
			if s.free {
				behind.inside.Add(1)
				time.Sleep(aloneTakes)
				behind.inside.Add(-1)
				behind.served.Add(1)
			} else {
				behind.serve()
			}
			times.add(time.Since(begun))
			return nil
		}), options)
		if err == nil && len(workers) == 1 {
			err = b.backlogBehind(client, topic, s, settles+measured)
		}
		if err == nil {
			err = client.Start(ctx)
		}
		return err
	}
	defer func() {
		for _, w := range workers {
			err = cmp.Or(err, w.Close(ctx))
		}
	}()
	for range s.first {
		if err := start(); err != nil {
			return r, err
		}
	}
	if s.first != s.last && !s.split {
		time.Sleep(comeAndGo)
		settles -= comeAndGo
		for len(workers) < s.last {
			if err := start(); err != nil {
				return r, err
			}
		}
		for len(workers) > s.last { // the first one may lead
			if err := workers[0].Close(ctx); err != nil {
				return r, err
			}
			workers = workers[1:]
		}
	}
	time.Sleep(settles)
	times.mu.Lock()
	times.all = nil
	times.mu.Unlock()
	before, begun, sum, looks := behind.served.Load(), time.Now(), 0.0, 0.0
	for time.Since(begun) < measured {
		time.Sleep(5 * time.Millisecond)
		sum, looks = sum+float64(behind.inside.Load()), looks+1
	}
	r.inside, r.rate = sum/looks, float64(behind.served.Load()-before)/time.Since(begun).Seconds()
	times.mu.Lock()
	defer times.mu.Unlock()
	all := slices.Sorted(slices.Values(times.all))
	if len(all) == 0 {
		return r, fmt.Errorf("%s workers: nothing was handled", s.title())
	}
	r.p50, r.p99 = all[len(all)/2], all[len(all)*99/100]
	return r, nil
}

// backlogBehind sends more than can be handled in some time.
func (b *bench) backlogBehind(client *rmq.Client, topic rmq.Topic, s *team, during time.Duration) error {
	n := picturesAtOnce * int(during/pictureTakes) * 5 / 4
	if s.free {
		n = s.last * limits.DefaultSlots * int(during/aloneTakes+1)
	}
	messages := make([]rmq.Message, n)
	for i := range messages {
		messages[i] = rmq.FixedTime{Content: content(i, b.payload), At: time.Now()}
	}
	_, err := client.SendBatch(ctx, topic, messages)
	return err
}
