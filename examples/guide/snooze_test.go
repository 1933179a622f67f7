package guide_test

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// A shop is closed for hours. Its orders wait, and keep all their deliveries.
func Example_snooze() {
	client, end := open(rmq.Config{})
	defer end()
	begin := client.Now()
	deliveries := 0
	opensIn := func(string) time.Duration {
		deliveries++
		return begin.Add(9 * time.Hour).Sub(client.Now())
	}
	deliver := func(_ context.Context, d *rmq.Delivery) error {
		fmt.Println(d.Content, "after", client.Now().Sub(begin), "and", deliveries, "deliveries")
		fmt.Println("attempt", d.Attempt, "priority", d.Priority)
		return nil
	}

	orders := rmq.Topic{Name: "orders", Kind: rmq.KindPriority}
	check(client.Listen(orders, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		if wait := opensIn(d.Content); wait > 0 {
			return fmt.Errorf("the shop is closed: %w", rmq.Later(min(wait, time.Hour)))
		}
		return deliver(ctx, d)
	}), rmq.ListenOptions{}))
	check(client.Start(ctx))
	_, err := client.Send(ctx, orders, rmq.Priority{Content: "order 7", Priority: 500})
	check(err)
	client.Advance(24 * time.Hour)
	// Output:
	// order 7 after 9h0m0s and 10 deliveries
	// attempt 1 priority 500
}
