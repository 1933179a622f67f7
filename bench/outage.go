package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/rmq"
)

var outageSection = section{
	name: "outage", title: "An outage behind the handlers",
	about: `10,000 messages are due, and every handler fails at once, with 64 slots and 64 handlers. After 60 s (5 s in -quick) what is behind them
		works again. Deliveries are those that failed; in an hour there is one more each 30 s, which is the longest pause between two
		probes. The work goes on by itself; the time to the first success and until all are handled is from the end of
		the outage.`,
	run: (*bench).outages,
}

const (
	outageDue   = 10_000
	probePause  = 30 * time.Second // the longest
	wholeOutage = time.Hour
)

// outage is what became of one.
type outage struct {
	lasted     time.Duration
	failed     int64 // deliveries
	dead       int
	first, all time.Duration // after its end: a success, and everything
}

// inAnHour is how many deliveries would have failed.
func (o outage) inAnHour() float64 {
	return float64(o.failed) + float64((wholeOutage-o.lasted)/probePause)
}

func (b *bench) outages() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	all, err := b.outageRounds(p)
	if err != nil {
		return err
	}
	var rows [][]string
	for i, o := range all {
		rows = append(rows, []string{fmt.Sprint(i + 1), fmt.Sprintf("%.0f s", o.lasted.Seconds()), report.Count(float64(o.failed)), report.Count(o.inAnHour()),
			fmt.Sprint(o.dead), fmt.Sprintf("%.1f s", o.first.Seconds()), fmt.Sprintf("%.1f s", o.all.Seconds())})
	}
	b.Table([]string{"round", "outage", "deliveries that failed", "in an hour", "dead", "first success", "all handled"}, rows)
	return nil
}

func (b *bench) outageRounds(p servers.Place) (all []outage, err error) {
	defer b.progress.Done()
	for round := range b.rounds {
		o, err := b.outage(p)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
		b.progress.Say("round %d  %d deliveries failed in %.0f s", round+1, o.failed, o.lasted.Seconds())
	}
	return all, nil
}

func (b *bench) outage(p servers.Place) (o outage, err error) {
	if err := p.Empty(); err != nil {
		return o, err
	}
	o.lasted = 60 * time.Second
	if b.quick {
		o.lasted = 5 * time.Second
	}
	topic, ids := rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge, Slots: limits.DefaultSlots}, newIdentities(outageDue)
	var away atomic.Bool
	var failed atomic.Int64
	worked := make(chan struct{}, 1)
	rdb := p.Dial()[0]
	defer rdb.Close()
	client, err := rmq.New(rmq.Config{Redis: rdb, Slog: slog.New(slog.DiscardHandler)})
	if err != nil {
		return o, err
	}
	errAway := errors.New("the database is away")
	err = client.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		if away.Load() {
			failed.Add(1)
			return errAway
		}
		ids.handled(d.Content)
		select {
		case worked <- struct{}{}:
		default:
		}
		return nil
	}), rmq.ListenOptions{})
	if err != nil {
		return o, err
	}
	messages := make([]rmq.Message, outageDue)
	for i := range messages {
		messages[i] = rmq.RangeMerge{Content: content(i, b.payload), Range: time.Millisecond}
	}
	if _, err := client.SendBatch(ctx, topic, messages); err != nil {
		return o, err
	}
	away.Store(true)
	if err := client.Start(ctx); err != nil {
		return o, err
	}
	time.Sleep(o.lasted)
	away.Store(false)
	over := time.Now()
	o.failed = failed.Load()
	select {
	case <-worked:
		o.first = time.Since(over)
	case <-time.After(2 * probePause):
	}
	if err = ids.wait(); err == nil {
		o.all = time.Since(over)
		err = client.Close(ctx)
	}
	if err == nil {
		o.dead, err = dead(rdb, topic)
	}
	return o, err
}

// dead is how many messages of a topic are.
func dead(rdb redis.UniversalClient, topic rmq.Topic) (int, error) {
	look, err := inspector.New(rdb, inspector.Config{})
	if err != nil {
		return 0, err
	}
	stats, err := look.Stats(ctx, topic.Name)
	return stats.Dead, err
}
