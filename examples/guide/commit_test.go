package guide_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/slotmq/go-rmq/rmq"
)

// outbox is a table of orders that are paid. Its first update fails.
type outbox struct {
	unsent []string
	failed bool
}

func (o *outbox) notSent(context.Context) ([]string, error) { return slices.Clone(o.unsent), nil }

func (o *outbox) markSent(_ context.Context, ids []string) error {
	if !o.failed {
		o.failed = true
		return errors.New("the database is away")
	}
	o.unsent = slices.DeleteFunc(o.unsent, func(id string) bool { return slices.Contains(ids, id) })
	return nil
}

// What was committed is sent at last, and handled once, although it is sent twice.
func Example_commit() {
	client, end := open(rmq.Config{})
	defer end()
	db := &outbox{unsent: []string{"order 1", "order 2"}}
	shipments := rmq.Topic{Name: "shipments", Kind: rmq.KindPriority, Slots: 1}

	sweep := func(ctx context.Context) error {
		ids, err := db.notSent(ctx) // select id from orders where state = 'paid' and not sent
		if err != nil || len(ids) == 0 {
			return err
		}
		messages := make([]rmq.Message, len(ids))
		for i, id := range ids {
			messages[i] = rmq.Priority{Content: id, Priority: 100}
		}
		if _, err := client.SendBatch(ctx, shipments, messages); err != nil {
			return err
		}
		return db.markSent(ctx, ids) // if this fails they are sent again, and merge
	}
	fmt.Println(sweep(ctx))
	fmt.Println(sweep(ctx))

	check(client.Listen(shipments, rmq.ListenerFunc(show), rmq.ListenOptions{}))
	check(client.Start(ctx))
	client.Advance(0)
	// Unordered output:
	// the database is away
	// <nil>
	// order 1
	// order 2
}
