package rmq_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// show is a listener that prints what it gets.
func show(_ context.Context, d *rmq.Delivery) error {
	fmt.Println(d.Content)
	return nil
}

// A price changes a thousand times a minute. A page needs it once a minute.
func ExampleRangeMerge() {
	client := open(rmq.Config{})
	defer client.close()

	prices := rmq.Topic{Name: "prices", Kind: rmq.KindRangeMerge}
	client.listen(prices, show, rmq.ListenOptions{})
	for range 1000 {
		client.send(prices, rmq.RangeMerge{Content: "product 4711", Range: time.Minute})
	}
	client.Advance(time.Minute)
	// Output: product 4711
}

// The largest priority of a slot goes first. Messages of one customer are in one slot.
func ExamplePriority() {
	client := open(rmq.Config{})
	defer client.close()

	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}
	client.send(jobs, rmq.Priority{Content: "newsletter", SlotBasis: "customer 12", Priority: 100})
	client.send(jobs, rmq.Priority{Content: "invoice", SlotBasis: "customer 12", Priority: 500})
	client.send(jobs, rmq.Priority{Content: "alarm", SlotBasis: "customer 12", Priority: 900})
	client.listen(jobs, show, rmq.ListenOptions{})
	client.Advance(0) // what is due now
	// Output:
	// alarm
	// invoice
	// newsletter
}

// Sent again while it waits, a message takes the new time.
func ExampleFixedTime() {
	client := open(rmq.Config{})
	defer client.close()

	reminders := rmq.Topic{Name: "reminders", Kind: rmq.KindFixedTime}
	client.listen(reminders, show, rmq.ListenOptions{})
	tomorrow := client.Now().Add(24 * time.Hour)
	client.send(reminders, rmq.FixedTime{Content: "call Ann", At: tomorrow})
	client.send(reminders, rmq.FixedTime{Content: "call Ann", At: tomorrow.Add(time.Hour)})
	client.Advance(24 * time.Hour)
	fmt.Println("a day later")
	client.Advance(time.Hour)
	// Output:
	// a day later
	// call Ann
}

// In goes by the clock of Redis: it does not matter if that of the sender is wrong.
func ExampleFixedTime_in() {
	client := open(rmq.Config{})
	defer client.close()

	orders := rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime}
	receipt := client.send(orders, rmq.FixedTime{Content: "order 4711", In: 30 * time.Minute})
	fmt.Println("due in", receipt.Due.Sub(client.Now()))
	// Output: due in 30m0s
}

// A topic of one slot handles one message at a time, in one order. Choose the number of
// slots when you create the topic: it never changes.
func ExampleTopic() {
	client := open(rmq.Config{})
	defer client.close()

	ledger := rmq.Topic{Name: "ledger", Kind: rmq.KindPriority, Slots: 1}
	client.send(ledger, rmq.Priority{Content: "entry 1", Priority: 100})
	_, err := client.Send(context.Background(), rmq.Topic{Name: "ledger", Kind: rmq.KindFixedTime}, rmq.FixedTime{Content: "entry 2", In: time.Hour})
	fmt.Println(errors.Is(err, rmq.ErrTopicConflict))
	// Output: true
}

// The error says which field is wrong, and what it must be.
func ExampleInvalidError() {
	client := open(rmq.Config{})
	defer client.close()

	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}
	_, err := client.Send(context.Background(), jobs, rmq.Priority{Content: "alarm", Priority: 5})
	var invalid *rmq.InvalidError
	if errors.As(err, &invalid) {
		fmt.Println(invalid.Field, "must be", invalid.Limit)
	}
	// Output: Priority must be 17 to 9007199254740991 (2^53 - 1)
}

// One message of a batch does not find room. The other one is stored.
func ExampleBatchError() {
	client := open(rmq.Config{MaxWaiting: 1})
	defer client.close()

	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority, Slots: 1}
	_, err := client.SendBatch(context.Background(), jobs, []rmq.Message{
		rmq.Priority{Content: "first", Priority: 100},
		rmq.Priority{Content: "second", Priority: 100},
	})
	var failed *rmq.BatchError
	if errors.As(err, &failed) {
		fmt.Println("not stored:", failed.Indexes, errors.Is(failed.Errs[0], rmq.ErrQueueFull))
	}
	// Output: not stored: [1] true
}
