package guide_test

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// A report may be asked for once a day, however often somebody clicks.
func Example_unique() {
	client, end := open(rmq.Config{})
	defer end()
	reports := rmq.Topic{Name: "reports", Kind: rmq.KindPriority}
	check(client.Listen(reports, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		fmt.Println("make", d.Content)
		return nil
	}), rmq.ListenOptions{}))
	check(client.Start(ctx))

	ask := func(report string) error {
		r, err := client.Send(ctx, reports, rmq.Priority{Content: report, Priority: 100, Unique: 24 * time.Hour})
		if err == nil && r.Outcome == rmq.Duplicate {
			fmt.Println("there was", report, "within a day")
		}
		return err
	}
	check(ask("sales"))
	client.Advance(time.Hour) // it is made
	check(ask("sales"))
	check(ask("taxes"))
	client.Advance(0)
	_, _, err := client.Cancel(ctx, reports, "taxes", "") // the figures were wrong: once more
	check(err)
	check(ask("taxes"))
	client.Advance(23 * time.Hour)
	check(ask("sales"))
	client.Advance(0)
	// Output:
	// make sales
	// there was sales within a day
	// make taxes
	// make taxes
	// make sales
}
