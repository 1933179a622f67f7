package rmq_test

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// An order is paid, so it is not closed any more.
func ExampleClient_Cancel() {
	client := open(rmq.Config{})
	defer client.close()
	ctx := context.Background()

	unpaid := rmq.Topic{Name: "orders-unpaid", Kind: rmq.KindFixedTime}
	client.send(unpaid, rmq.FixedTime{Content: "order 4711", In: 30 * time.Minute})

	removed, asked, err := client.Cancel(ctx, unpaid, "order 4711", "")
	fmt.Println(removed, asked, err)
	// Output: true false <nil>
}

// A customer gets more time. Explain says what a message waits for.
func ExampleClient_Reschedule() {
	client := open(rmq.Config{})
	defer client.close()
	ctx := context.Background()

	unpaid := rmq.Topic{Name: "orders-unpaid", Kind: rmq.KindFixedTime}
	client.send(unpaid, rmq.FixedTime{Content: "order 4711", SlotBasis: "customer 12", In: 30 * time.Minute})

	_, err := client.Reschedule(ctx, unpaid, "order 4711", "customer 12", rmq.Move{In: 2 * time.Hour})
	check(err)
	all, err := client.Explain(ctx, unpaid, "order 4711", "customer 12")
	check(err)
	fmt.Println(all[0].WaitsFor)
	// Output: [its time, in 2h a worker: none listens to this topic]
}
