package databases_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	"github.com/slotmq/go-rmq/internal/testing/exampletest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqtest"
	"github.com/slotmq/go-rmq/server/databases"
)

var invoices = rmq.Topic{Name: "invoices", Kind: rmq.KindPriority, Notes: true} // Once asks for Notes

// An order and the message about it commit together, and so do the invoice and the end of the
// message: there is one invoice for each order, whatever is killed in between.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "shop")
	check(err)
	defer os.RemoveAll(dir)
	db, dialect, err := databases.Open("sqlite:" + filepath.Join(dir, "shop.db"))
	check(err)
	defer db.Close()
	_, err = db.ExecContext(ctx, "CREATE TABLE orders (id TEXT); CREATE TABLE invoices (orders TEXT)")
	check(err)
	j, err := journal.Open(db, dialect, journal.Config{})
	check(err)
	defer func() { check(j.Close(ctx)) }()

	t := &exampletest.T{} // a client for tests: yours is made by rmq.New
	defer t.End()
	client := rmqtest.New(t, rmq.Config{Journal: j})
	written := make(chan bool)
	check(client.Listen(invoices, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		defer func() { written <- true }()
		return invoice(ctx, db, j, d)
	}), rmq.ListenOptions{}))
	check(client.Start(ctx))

	relaying, stop := context.WithCancel(ctx)
	relayed := make(chan error)
	go func() { relayed <- journal.Relay(relaying, j, client) }()

	check(order(ctx, db, j, "4711"))
	<-written
	stop()
	check(<-relayed)

	var n int
	check(db.QueryRowContext(ctx, "SELECT COUNT(*) FROM invoices").Scan(&n))
	fmt.Println(n, "invoice")
	// Output:
	// invoice for order 4711
	// 1 invoice
}

// order writes an order. Its message is sent if, and only if, that commits.
func order(ctx context.Context, db *sql.DB, j *journal.Journal, id string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders (id) VALUES (?)", id); err != nil {
		return err
	}
	if err := j.SendTx(ctx, tx, invoices, rmq.Priority{Content: "order " + id, Priority: 100}); err != nil {
		return err
	}
	return tx.Commit()
}

// invoice handles the message, once.
func invoice(ctx context.Context, db *sql.DB, j *journal.Journal, d *rmq.Delivery) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if done, err := j.Once(ctx, tx, d); done || err != nil {
		return err
	}
	fmt.Println("invoice for", d.Content)
	if _, err := tx.ExecContext(ctx, "INSERT INTO invoices (orders) VALUES (?)", d.Content); err != nil {
		return err
	}
	return tx.Commit()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
