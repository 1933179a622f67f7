package guide_test

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// A handler that knows how many changes there were, and when.
func Example_sends() {
	client, end := open(rmq.Config{})
	defer end()

	changed := rmq.Topic{Name: "price-changed", Kind: rmq.KindRangeMerge, Notes: true}
	check(client.Listen(changed, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		fmt.Println(d.Content, "changed", d.Sends(), "times within", d.LastSent().Sub(d.FirstSent()))
		return nil
	}), rmq.ListenOptions{}))

	check(client.Start(ctx))
	for range 3 {
		_, err := client.Send(ctx, changed, rmq.RangeMerge{Content: "shoes", Range: 10 * time.Second})
		check(err)
		client.Advance(2 * time.Second)
	}
	client.Advance(4 * time.Second)
	// Output: shoes changed 3 times within 4s
}
