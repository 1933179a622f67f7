package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/rmq"
)

// usual is how many slots a topic has unless the table says another number.
const usual = 16

var bothSection = section{
	name: "both", title: "Send and handle at once", quick: true,
	about: `All contestants use their public API, each on an empty Redis. RMQ has 256 callers of Send, and a listener that counts; asynq has as
		many callers of Enqueue as its Concurrency, 50, 200 and 800, and is compared by the best of them. RMQ has 16 slots, 64, which is its
		default, and 256. The naive queue is what you write on a sorted set in an afternoon: a ZADD for each message, and 50 workers that
		take one by a script and remove it when it is done. The last two handle nothing: they only add to 16 sorted sets, by single ZADDs,
		64 in a write, on four connections, which no queue on sorted sets can beat unless it writes several messages with one command; and
		by ZADDs of 64 messages each.`,
	run: (*bench).both,
}

func (b *bench) both() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	few := b.messages / 20 // the slow ones'
	ours := &contestant{name: "RMQ", title: "RMQ, 16 slots", run: func() (servers.Sample, error) { return b.bothRMQ(p, usual, b.messages) }}
	wide := &contestant{name: "RMQ 256", title: "RMQ, 256 slots", run: func() (servers.Sample, error) { return b.bothRMQ(p, 256, b.messages/2) }}
	usually := &contestant{name: "RMQ 64", title: "RMQ, 64 slots, its default", run: func() (servers.Sample, error) { return b.bothRMQ(p, limits.DefaultSlots, b.messages/2) }}
	var asynqs []*contestant
	for _, workers := range asynqTries {
		asynqs = append(asynqs, &contestant{
			name: fmt.Sprint("asynq ", workers), title: fmt.Sprint("asynq, Concurrency ", workers),
			run: func() (servers.Sample, error) { return b.bothAsynq(p, few, workers) },
		})
	}
	bare := &contestant{name: "ZADD", title: "ZADD alone, 64 in a write", run: func() (servers.Sample, error) { return b.ceiling(p, 1) }}
	lazy := &contestant{name: "RMQ GOGC=400", title: "RMQ, GOGC=400", run: func() (servers.Sample, error) {
		defer debug.SetGCPercent(debug.SetGCPercent(400))
		return b.bothRMQ(p, usual, b.messages)
	}}
	naive := &contestant{name: "naive", title: "naive queue", run: func() (servers.Sample, error) { return b.bothNaive(p, few) }}
	packed := &contestant{name: "ZADD of 64", title: "ZADD alone, of 64 messages", run: func() (servers.Sample, error) { return b.ceiling(p, 64) }}

	all := slices.Concat([]*contestant{ours, usually, lazy, wide}, asynqs, []*contestant{naive, bare, packed})
	if b.quick {
		all = slices.Concat([]*contestant{ours, usually, wide}, asynqs, []*contestant{bare})
	}
	var runs []headline
	for run := range b.runs {
		if run > 0 {
			b.progress.Say("run %d of %d begins in %v", run+1, b.runs, b.pause)
			<-time.After(b.pause)
			for _, c := range all {
				c.all = nil
			}
		}
		if err := b.interleave(all, b.rounds); err != nil {
			return err
		}
		runs = append(runs, compareWith(ours, fastest(asynqs)))
	}
	b.compare(all)
	theirs := fastest(asynqs)
	b.headlines(runs)
	r, z := summarize(ours.all), summarize(bare.all)
	b.Text("RMQ passes %.0f %% of what adding alone reaches, and each whole life of a message costs Redis %.2f times what adding it by a ZADD of its own "+
		"does.", 100*r.rate/z.rate, r.redis/z.redis)
	last := runs[len(runs)-1]
	b.Result("both_vs_asynq", "%.1f", last.median)
	b.Result("both_lowest", "%.1f", last.least)
	b.Result("both_vs_zadd", "%.2f", r.rate/z.rate)
	b.Result("redis_us", "%.2f", r.redis)
	b.Result("client_us", "%.2f", r.client)
	b.Result("allocs", "%.2f", r.mallocs)
	b.Result("slots256", "%.2f", summarize(wide.all).rate/r.rate)
	if b.plots != "" {
		return b.plot(p.Servers[0].Version(), runs, ours, naive, theirs, bare)
	}
	return nil
}

// bothRMQ sends from many goroutines and handles at once, each message through
// Send and a listener. The messages are due a millisecond after they are sent.
// In a place of several Redis clients, the messages are dealt out to them.
func (b *bench) bothRMQ(p servers.Place, slots, messages int) (servers.Sample, error) {
	topic := rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge, Slots: slots}
	return b.sendAndHandle(p, topic, messages, sendPlain)
}

// sendPlain sends a message that is due a millisecond later.
func sendPlain(client *rmq.Client, topic rmq.Topic, content string) error {
	_, err := client.Send(ctx, topic, rmq.RangeMerge{Content: content, Range: time.Millisecond})
	return err
}

// sendAndHandle has many goroutines send each a message at a time. A message that send would return
// would cost an allocation.
func (b *bench) sendAndHandle(p servers.Place, topic rmq.Topic, messages int, send func(*rmq.Client, rmq.Topic, string) error) (servers.Sample, error) {
	texts, ids := contents(messages, b.payload), newIdentities(messages)
	if err := p.Empty(); err != nil {
		return servers.Sample{}, err
	}
	var clients []*rmq.Client
	for _, rdb := range p.Dial() {
		defer rdb.Close()
		client, err := listening(rdb, topic, func(d *rmq.Delivery) { ids.handled(d.Content) })
		if err != nil {
			return servers.Sample{}, err
		}
		clients = append(clients, client)
	}
	result, err := p.Measure(messages, func() error {
		for _, client := range clients {
			if err := client.Start(ctx); err != nil {
				return err
			}
		}
		err := each(messages, b.callers, func(i int) error {
			return send(clients[i%len(clients)], topic, texts[i])
		})
		if err == nil {
			err = ids.wait()
		}
		return err
	})
	for _, client := range clients {
		if err == nil {
			err = client.Close(ctx)
		}
	}
	if err == nil {
		err = ids.check()
	}
	return result, err
}

// listening returns a client that is yet to be started, whose listener calls on.
// Where there are more slots than the 64 handlers that run at once by default, it
// has a handler for each slot: otherwise slots wait for each other.
func listening(rdb redis.UniversalClient, topic rmq.Topic, on func(*rmq.Delivery), adjust ...func(*rmq.Config) error) (*rmq.Client, error) {
	cfg := rmq.Config{Redis: rdb, Concurrency: max(64, topic.Slots)}
	for _, f := range adjust {
		if err := f(&cfg); err != nil {
			return nil, err
		}
	}
	client, err := rmq.New(cfg)
	if err != nil {
		return nil, err
	}
	return client, client.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		on(d)
		return nil
	}), rmq.ListenOptions{})
}

// handleAll measures how a client handles all messages, of which those that are
// not there yet are sent when it has started, and closes it.
func handleAll(p servers.Place, client *rmq.Client, ids *identities, send func() error) (servers.Sample, error) {
	result, err := p.Measure(ids.size, func() error {
		err := client.Start(ctx)
		if err == nil && send != nil {
			err = send()
		}
		if err == nil {
			err = ids.wait()
		}
		return err
	})
	if err == nil {
		err = client.Close(ctx)
	}
	if err == nil {
		err = ids.check()
	}
	return result, err
}
