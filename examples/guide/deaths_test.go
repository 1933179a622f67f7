package guide_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// Each death is reported, whatever the message died of.
func Example_deaths() {
	client, end := open(rmq.Config{})
	defer end()
	orders := rmq.Topic{Name: "orders", Kind: rmq.KindPriority}
	page := func(_ context.Context, text string) error {
		fmt.Println(text)
		return nil
	}

	check(client.ListenDead(orders, func(ctx context.Context, d *rmq.Death) error {
		return page(ctx, fmt.Sprint(d.Content, " is dead after ", d.Attempts, " attempts: ", d.Reason))
	}))

	check(client.Listen(orders, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error {
		return errors.New("no such tax code")
	}), rmq.ListenOptions{MaxAttempts: 3}))
	check(client.Start(ctx))
	_, err := client.Send(ctx, orders, rmq.Priority{Content: "order 7", Priority: 100})
	check(err)
	client.Advance(time.Hour)
	// Output: order 7 is dead after 3 attempts: no such tax code
}
