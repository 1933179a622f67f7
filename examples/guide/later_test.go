package guide_test

import (
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// An order that is closed in half an hour, gets more time, and a reminder of a meeting.
func Example_later() {
	client, end := open(rmq.Config{})
	defer end()
	orders := rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime}
	check(client.Listen(orders, rmq.ListenerFunc(show), rmq.ListenOptions{}))
	check(client.Start(ctx))
	meeting := client.Now().Add(time.Hour)

	_, err := client.Send(ctx, orders, rmq.FixedTime{Content: "close order 4711", In: 30 * time.Minute})
	check(err)
	_, err = client.Send(ctx, orders, rmq.FixedTime{Content: "remind Ann", At: meeting.Add(-15 * time.Minute)})
	check(err)

	// The customer asks for more time. The same content again: moved, not doubled.
	_, err = client.Send(ctx, orders, rmq.FixedTime{Content: "close order 4711", In: 50 * time.Minute})
	check(err)

	for minute := 30; minute <= 50; minute += 5 {
		client.Advance(meeting.Add(time.Duration(minute-60) * time.Minute).Sub(client.Now()))
		fmt.Println("minute", minute)
	}
	// Output:
	// minute 30
	// minute 35
	// minute 40
	// remind Ann
	// minute 45
	// close order 4711
	// minute 50
}
