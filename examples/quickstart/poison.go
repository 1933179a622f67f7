package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// poison handles a message that fails each time, and another one of the same
// slot, which must not suffer from it.
func poison(ctx context.Context, s *store.Store) (result measured, err error) {
	imports := rmq.Topic{Name: "imports", Kind: rmq.KindPriority}
	const bad, good, basis = "file 13", "file 14", "customer 7" // the same basis: the same slot

	type try struct {
		file    string
		attempt int
		at      time.Time
	}
	tries := make(chan try, 100)
	// By default the 16 retries take about 3 hours. Here they come quickly.
	cfg := rmq.Config{
		Backoff: rmq.Schedule(5*time.Millisecond, 10*time.Millisecond, 20*time.Millisecond),
		Slog:    slog.New(slog.DiscardHandler), // a death is an error in the log, which is not the story here
	}
	worker, err := startWorker(ctx, s, cfg, imports, func(_ context.Context, d *rmq.Delivery) error {
		tries <- try{d.Content, d.Attempt, time.Now()}
		if d.Content == bad {
			return errors.New("line 3: not a number")
		}
		return nil
	})
	if err != nil {
		return result, err
	}
	defer stopWorker(worker, &err)

	say("The pauses between deliveries are short here; by default they add up to about 3 hours.")
	begin := time.Now()
	receipts, err := worker.SendBatch(ctx, imports, []rmq.Message{
		rmq.Priority{Content: bad, SlotBasis: basis, Priority: 900},
		rmq.Priority{Content: good, SlotBasis: basis, Priority: 100},
	})
	if err != nil {
		return result, err
	}
	all, err := collect(ctx, tries, message.MaxRetries+2)
	if err != nil {
		return result, err
	}
	deliveries, neighbour := 0, time.Duration(0)
	for _, t := range all {
		if t.file == good {
			neighbour = t.at.Sub(begin)
			continue
		}
		deliveries++
		if t.attempt <= 2 || t.attempt == message.MaxRetries+1 {
			say("%s, delivery %2d after %8s: fails", bad, t.attempt, ms(t.at.Sub(begin)))
		}
	}
	say("%s, its neighbour in slot %d, was done after %s.", good, receipts[1].Slot, ms(neighbour))

	died, why, err := obituary(ctx, s, imports, receipts[0].Slot, bad)
	if err != nil {
		return result, err
	}
	say("%s is dead since %s, and Redis knows why: \"%s\" after %d deliveries.", bad, died.Format(clock), why.Reason, why.Attempts)
	return measured{
		text: fmt.Sprintf("%d deliveries, then dead; neighbour done after %s", deliveries, ms(neighbour)),
		ok:   deliveries == 17 && why.Attempts == 17 && neighbour > 0 && drain(tries) == 0,
	}, nil
}

// obituary reads what is kept about a dead message. It is there as soon as the
// worker has reported the last failure.
func obituary(ctx context.Context, s *store.Store, t rmq.Topic, slot int, content string) (died time.Time, why protocol.Failure, err error) {
	keys := s.Keys(t.Name, slot)
	for {
		score, err := s.Redis.ZScore(ctx, keys.Dead, content).Result()
		if err == nil {
			died = time.UnixMilli(int64(score))
			break
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return died, why, fmt.Errorf("%s has not died: %w", content, err)
		}
	}
	entry, err := s.Redis.HGet(ctx, keys.Why, content).Result()
	if err != nil {
		return died, why, err
	}
	why, ok := protocol.ParseFailure(entry)
	if !ok {
		return died, why, fmt.Errorf("%s holds %q", keys.Why, entry)
	}
	return died, why, nil
}
