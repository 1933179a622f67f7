package guide_test

import (
	"context"
	"fmt"

	"github.com/slotmq/go-rmq/rmq"
)

// Who asked for an invoice goes with the message, and is no part of what it is.
func Example_headers() {
	client, end := open(rmq.Config{})
	defer end()

	invoices := rmq.Topic{Name: "invoices", Kind: rmq.KindPriority, Notes: true}
	check(client.Listen(invoices, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		fmt.Println(d.Content, "for", d.Headers()["user"])
		return nil
	}), rmq.ListenOptions{}))

	for _, user := range []string{"ann", "bob"} {
		_, err := client.Send(ctx, invoices, rmq.Priority{
			Content: "invoice 4711", Priority: 100, Headers: map[string]string{"user": user},
		})
		check(err)
	}

	check(client.Start(ctx))
	client.Advance(0)
	// Output: invoice 4711 for bob
}
