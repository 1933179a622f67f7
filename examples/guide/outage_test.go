package guide_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

var errBusy = errors.New("the database is busy")

// rows is a database that is busy at first.
type rows struct{ busy int }

func (db *rows) write(_ context.Context, row string) error {
	if db.busy > 0 {
		db.busy--
		fmt.Println("busy")
		return errBusy
	}
	fmt.Println(row, "is written")
	return nil
}

// A handler that pushes back while its database wants less.
func Example_pushback() {
	client, end := open(rmq.Config{})
	defer end()
	invoices := rmq.Topic{Name: "invoices", Kind: rmq.KindPriority, Slots: 1}
	db := &rows{busy: 1}
	_, err := client.Send(ctx, invoices, rmq.Priority{Content: "invoice 4711", Priority: 100})
	check(err)

	err = client.Listen(invoices, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		err := db.write(ctx, d.Content)
		if errors.Is(err, errBusy) {
			return rmq.Pushback(100*time.Millisecond, err) // it is there, and wants less
		}
		return err
	}), rmq.ListenOptions{})
	check(err)
	check(client.Start(ctx))
	client.Advance(time.Minute)
	// Output:
	// busy
	// invoice 4711 is written
}
