package guide_test

import (
	"context"
	"fmt"

	"github.com/slotmq/go-rmq/rmq"
)

// shipping is a table of orders: paid, and shipped or not.
type shipping map[string]bool

func (s shipping) notShipped(context.Context) (ids []string, err error) {
	for _, id := range []string{"order 1", "order 2", "order 3"} {
		if !s[id] {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// What was committed is sent at last, and once, although it is sent again and again.
func Example_commit() {
	client, end := open(rmq.Config{})
	defer end()
	db := shipping{"order 2": true}
	shipments := rmq.Topic{Name: "shipments", Kind: rmq.KindPriority, Slots: 1}

	sweep := func(ctx context.Context) error {
		ids, err := db.notShipped(ctx) // select id from orders where state = 'paid'
		if err != nil || len(ids) == 0 {
			return err
		}
		messages := make([]rmq.Message, len(ids))
		for i, id := range ids {
			messages[i] = rmq.Priority{Content: id, Priority: 100}
		}
		_, err = client.SendBatch(ctx, shipments, messages)
		return err
	}
	for range 3 {
		check(sweep(ctx))
	}

	handled := 0
	check(client.Listen(shipments, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		db[d.Content], handled = true, handled+1
		return nil
	}), rmq.ListenOptions{}))
	check(client.Start(ctx))
	client.Advance(0)
	check(sweep(ctx))
	client.Advance(0)
	fmt.Println(len(db), "orders are shipped,", handled, "of them by messages")
	// Output: 3 orders are shipped, 2 of them by messages
}
