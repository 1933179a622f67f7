package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

var adaptiveSection = section{
	name: "adaptive", title: "What it costs to find out how many handlers are of use",
	about: `One worker with 64 places handles a backlog of some seconds on 64 slots: as it is by default, and with Flow: rmq.Fixed. No handler
		is in vain here, or all wait for the processors alone. Ratios are of neighbouring rounds.`,
	run: (*bench).adaptive,
}

// adaptives are handlers, and how many messages they handle in a few seconds.
var adaptives = []struct {
	title    string
	messages int
	handle   func()
}{
	{"0.2 ms of a processor", 60_000, func() { compute(200 * time.Microsecond) }},
	{"2 ms of a processor", 6_500, func() { compute(2 * time.Millisecond) }},
	{"20 ms asleep", 20_000, func() { time.Sleep(20 * time.Millisecond) }},
	{"1 ms asleep, every tenth 100 ms", 24_000, func() {
		if rand.IntN(10) == 0 {
			time.Sleep(100 * time.Millisecond)
		} else {
			time.Sleep(time.Millisecond)
		}
	}},
}

// compute keeps a processor busy for a while, or for longer if it must share it.
func compute(d time.Duration) {
	x := [sha256.Size]byte{}
	for range int(hashesPerMicrosecond() * float64(d.Microseconds())) {
		x = sha256.Sum256(x[:])
	}
	computed.Store(&x) // so that it is not left out
}

var computed atomic.Pointer[[sha256.Size]byte]

// hashesPerMicrosecond is how fast a processor is, measured once.
var hashesPerMicrosecond = sync.OnceValue(func() float64 {
	const n = 100_000
	x, begin := [sha256.Size]byte{}, time.Now()
	for range n {
		x = sha256.Sum256(x[:])
	}
	computed.Store(&x)
	return n / float64(time.Since(begin).Microseconds())
})

func (b *bench) adaptive() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	var all []*contestant
	for _, a := range adaptives {
		messages := a.messages
		if b.quick {
			messages /= 5
		}
		for i, flow := range []rmq.Flow{{}, rmq.Fixed} {
			all = append(all, &contestant{name: a.title + []string{", default", ", fixed"}[i], title: a.title, run: func() (servers.Sample, error) {
				return b.handleWith(p, messages, a.handle, flow)
			}})
		}
	}
	hashesPerMicrosecond()
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	var rows [][]string
	for i := 0; i < len(all); i += 2 {
		ours, fixed := all[i], all[i+1]
		ratios := pairs(ours, fixed, servers.Sample.Rate)
		rows = append(rows, []string{ours.title, report.Round(summarize(ours.all).rate), report.Round(summarize(fixed.all).rate),
			fmt.Sprintf("%.3f", median(ratios)), fmt.Sprintf("%.3f .. %.3f", slices.Min(ratios), slices.Max(ratios))})
	}
	b.Table([]string{"each handler takes", "messages/s by default", "rmq.Fixed", "ratio", "least .. most"}, rows)
	return nil
}

// handleWith has a backlog handled to its end.
func (b *bench) handleWith(p servers.Place, messages int, handle func(), flow rmq.Flow) (result servers.Sample, err error) {
	if err := p.Empty(); err != nil {
		return result, err
	}
	topic, ids := rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge, Slots: message.DefaultSlots}, newIdentities(messages)
	rdb := p.Dial()[0]
	defer rdb.Close()
	if err := fill(rdb, topic.Name, topic.Slots, 0, messages, b.payload, randomDue(), nil); err != nil {
		return result, err
	}
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		return result, err
	}
	err = client.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		handle()
		ids.handled(d.Content)
		return nil
	}), rmq.ListenOptions{Flow: flow})
	if err != nil {
		return result, err
	}
	return handleAll(p, client, ids, nil)
}
