package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/rmq"
)

// merge floods a topic with changes of a few items. The message says which item
// has changed, and nothing else; whoever handles it looks the price up. So one
// delivery serves all changes that came while it waited.
func merge(ctx context.Context, s *store.Store) (result measured, err error) {
	const items, rounds, window = 50, 20, time.Second
	prices := rmq.Topic{Name: "prices", Kind: rmq.KindRangeMerge}

	var mu sync.Mutex
	price := map[string]int{} // the shop's table of prices

	type seen struct {
		item  string
		price int
		at    time.Time
	}
	handled := make(chan seen, items*rounds)
	worker, err := startWorker(ctx, s, rmq.Config{}, prices, func(_ context.Context, d *rmq.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		handled <- seen{d.Content, price[d.Content], time.Now()}
		return nil
	})
	if err != nil {
		return result, err
	}
	defer stopWorker(worker, &err)

	first := time.Now()
	outcomes := map[rmq.Outcome]int{}
	for round := range rounds {
		changes := make([]rmq.Message, items)
		for i := range items {
			item := fmt.Sprintf("item %d", i)
			mu.Lock()
			price[item] = 100 + round
			mu.Unlock()
			changes[i] = rmq.RangeMerge{Content: item, Range: window}
		}
		receipts, err := worker.SendBatch(ctx, prices, changes)
		if err != nil {
			return result, err
		}
		for _, r := range receipts {
			outcomes[r.Outcome]++
		}
	}
	say("Sent 1,000 price changes of 50 items in %s. %d were stored, %d merged into those that wait.",
		ms(time.Since(first)), outcomes[rmq.Stored], outcomes[rmq.Merged])

	deliveries, err := collect(ctx, handled, items)
	if err != nil {
		return result, err
	}
	newest := 0
	for _, d := range deliveries {
		if d.price == 100+rounds-1 {
			newest++
		}
	}
	// Nothing waits any more: the window of the last change is over.
	if extra := drain(handled); extra > 0 {
		deliveries = append(deliveries, make([]seen, extra)...)
	}
	say("Each item was handled once, a second after its first change: %d deliveries, the last one %.2f s",
		len(deliveries), deliveries[items-1].at.Sub(first).Seconds())
	say("after the first change. %d of them found the newest price.", newest)
	return measured{
		text: fmt.Sprintf("%d deliveries, %d merged, %d saw the newest", len(deliveries), outcomes[rmq.Merged], newest),
		ok:   len(deliveries) == items && outcomes[rmq.Merged] == items*(rounds-1) && newest == items,
	}, nil
}

// drain counts what else has come.
func drain[T any](from <-chan T) (n int) {
	for {
		select {
		case <-from:
			n++
		default:
			return n
		}
	}
}
