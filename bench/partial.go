package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/rmq"
)

var partialSection = section{
	name: "partial", title: "Half an outage behind the handlers",
	about: `5,000 messages are due, with 64 slots and 64 handlers of 2 ms (time.Sleep). A share of the deliveries fails, at random, or all those of a share of
		the messages. After 10 s (3 s in -quick) what is behind the handlers is well again. What was handled until then, with the breaker and without it
		(NoBreaker); what failed until then; and how long it then took until all were handled. No message may die.`,
	run: (*bench).partials,
}

const (
	partialDue   = 5_000
	partialTakes = 2 * time.Millisecond
)

// partial is half an outage, with a breaker or without it.
type partial struct {
	share     float64 // that fails
	byMessage bool    // always the same ones
	noBreaker bool
	rounds    []partialRound
}

type partialRound struct {
	handled, failed float64
	settled         float64 // seconds after it ended
}

func (b *bench) partials() error {
	place, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	var cells []*partial
	for _, byMessage := range []bool{false, true} {
		for _, share := range []float64{0, 0.3, 0.6, 0.85, 0.95, 0.98, 1} {
			cells = append(cells, &partial{share: share, byMessage: byMessage}, &partial{share: share, byMessage: byMessage, noBreaker: true})
		}
	}
	if err := b.partialRounds(place, cells); err != nil {
		return err
	}
	handled := func(r partialRound) float64 { return r.handled }
	failed := func(r partialRound) float64 { return r.failed }
	settled := func(r partialRound) float64 { return r.settled }
	var rows [][]string
	for i := 0; i < len(cells); i += 2 {
		with, without := cells[i], cells[i+1]
		kind, ratio := "deliveries", "-"
		if with.byMessage {
			kind = "messages"
		}
		if n := medianOf(without.rounds, handled); n > 0 {
			ratio = fmt.Sprintf("%.2f", medianOf(with.rounds, handled)/n)
		}
		rows = append(rows, []string{
			fmt.Sprintf("%.0f %% of the %s", 100*with.share, kind),
			report.Count(medianOf(with.rounds, handled)), report.Count(medianOf(without.rounds, handled)), ratio,
			report.Count(medianOf(with.rounds, failed)), report.Count(medianOf(without.rounds, failed)),
			fmt.Sprintf("%.1f s", medianOf(with.rounds, settled)), fmt.Sprintf("%.1f s", medianOf(without.rounds, settled)),
		})
	}
	b.Table([]string{"what fails", "handled", "without a breaker", "ratio", "failed", "without", "all handled after", "without"}, rows)
	return nil
}

// partialRounds measures all of them, one after the other in each round.
func (b *bench) partialRounds(place servers.Place, cells []*partial) error {
	defer b.progress.Done()
	for round := range b.rounds {
		for _, p := range cells {
			r, err := b.partial(place, p)
			if err != nil {
				return err
			}
			p.rounds = append(p.rounds, r)
			b.progress.Say("round %d  %.0f %% fail, by message %v, no breaker %v: %.0f handled, %.0f failed, %.1f s",
				round+1, 100*p.share, p.byMessage, p.noBreaker, r.handled, r.failed, r.settled)
		}
	}
	return nil
}

func (b *bench) partial(place servers.Place, p *partial) (r partialRound, err error) {
	if err := place.Empty(); err != nil {
		return r, err
	}
	lasts := 10 * time.Second
	if b.quick {
		lasts = 3 * time.Second
	}
	topic, ids := rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge, Slots: limits.DefaultSlots}, newIdentities(partialDue)
	messages, bad := make([]rmq.Message, partialDue), map[string]bool{}
	for i := range messages {
		text := content(i, b.payload)
		messages[i], bad[text] = rmq.RangeMerge{Content: text, Range: time.Millisecond}, rand.Float64() < p.share
	}
	var well atomic.Bool
	var handled, failed atomic.Int64
	rdb := place.Dial()[0]
	defer rdb.Close()
	client, err := rmq.New(rmq.Config{Redis: rdb, Slog: slog.New(slog.DiscardHandler)})
	if err != nil {
		return r, err
	}
	errAway := errors.New("the database is away")
	err = client.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		time.Sleep(partialTakes)
		fails := bad[d.Content]
		if !p.byMessage {
			fails = rand.Float64() < p.share
		}
		if fails && !well.Load() {
			failed.Add(1)
			return errAway
		}
		handled.Add(1)
		ids.handled(d.Content)
		return nil
	}), rmq.ListenOptions{NoBreaker: p.noBreaker})
	if err == nil {
		_, err = client.SendBatch(ctx, topic, messages)
	}
	if err == nil {
		err = client.Start(ctx)
	}
	if err != nil {
		return r, err
	}
	time.Sleep(lasts)
	r.handled, r.failed = float64(handled.Load()), float64(failed.Load())
	over := time.Now()
	well.Store(true)
	if err = ids.wait(); err == nil {
		r.settled = time.Since(over).Seconds()
		err = client.Close(ctx)
	}
	if err != nil {
		return r, err
	}
	died, err := dead(rdb, topic)
	if err == nil && died > 0 {
		err = fmt.Errorf("%d messages died", died)
	}
	return r, err
}
