// Price keeps the prices on the pictures of a shop true. Prices change in
// floods, rendering a picture is slow, and the pictures of great merchants
// matter more. So changes merge for a while in one topic, and what is left of
// them goes on to a second topic with the priority of the merchant's class.
//
//	go run ./examples/price
//	go run ./examples/price -redis redis://localhost:6379
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/rmq"
)

const (
	items   = 90
	changes = 3_000
	window  = 500 * time.Millisecond // 10 s would do for a shop
)

// One slot, so that the order is easy to see: it holds within a slot.
var (
	changed  = rmq.Topic{Name: "price-changed", Kind: rmq.KindRangeMerge}
	pictures = rmq.Topic{Name: "pictures", Kind: rmq.KindPriority, Slots: 1}
)

var classes = []struct {
	name     string
	priority int64
}{{"gold", 900}, {"silver", 500}, {"bronze", 100}}

// class of the merchant of an item; a shop would look it up.
func class(item string) int {
	var n int
	_, _ = fmt.Sscanf(item, "item %d", &n)
	return n % len(classes)
}

func main() { store.Main(run) }

func run(ctx context.Context, s *store.Store) error {
	client, err := s.Client(rmq.Config{})
	if err != nil {
		return err
	}
	defer client.Close(context.Background())

	// What is left of a flood of changes asks for a picture.
	ask := func(ctx context.Context, d *rmq.Delivery) error {
		_, err := client.Send(ctx, pictures, rmq.Priority{Content: d.Content, Priority: classes[class(d.Content)].priority})
		return err // an error: this change comes again
	}
	rendered := make(chan string, changes)
	render := func(ctx context.Context, d *rmq.Delivery) error {
		time.Sleep(2 * time.Millisecond) // drawing the newest price
		rendered <- d.Content
		return nil
	}
	if err := client.Listen(changed, rmq.ListenerFunc(ask), rmq.ListenOptions{}); err != nil {
		return err
	}
	if err := client.Listen(pictures, rmq.ListenerFunc(render), rmq.ListenOptions{}); err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}

	fmt.Printf("%d price changes of %d items, on %s\n", changes, items, s.Where)
	begin := time.Now()
	flood := make([]rmq.Message, changes)
	for i := range flood {
		item := rand.IntN(items)
		if i < items {
			item = i // each of them at least once
		}
		flood[i] = rmq.RangeMerge{Content: fmt.Sprintf("item %d", item), Range: window}
	}
	if _, err := client.SendBatch(ctx, changed, flood); err != nil {
		return err
	}

	// How long after the window each class had its pictures.
	count, wait := make([]int, len(classes)), make([]time.Duration, len(classes))
	for range items {
		select {
		case item := <-rendered:
			count[class(item)]++
			wait[class(item)] += time.Since(begin) - window
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	fmt.Printf("%d pictures rendered, %d less than there were changes\n", items, changes-items)
	for i, c := range classes {
		fmt.Printf("  %-6s (priority %d): %d pictures, on average %.0f ms after the window of %v\n",
			c.name, c.priority, count[i], float64(wait[i].Milliseconds())/float64(max(1, count[i])), window)
	}
	return nil
}
