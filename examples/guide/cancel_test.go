package guide_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// An order is paid before it is closed. Another one gets more time.
func Example_cancel() {
	client, end := open(rmq.Config{})
	defer end()
	unpaid := rmq.Topic{Name: "orders-unpaid", Kind: rmq.KindFixedTime}
	for _, order := range []string{"order 1", "order 2"} {
		_, err := client.Send(ctx, unpaid, rmq.FixedTime{Content: order, SlotBasis: "customer 12", In: 30 * time.Minute})
		check(err)
	}

	removed, asked, err := client.Cancel(ctx, unpaid, "order 1", "customer 12")
	check(err) // asked: it is being handled, and its handler is asked to stop

	_, err = client.Reschedule(ctx, unpaid, "order 2", "customer 12", rmq.Move{In: 2 * time.Hour})
	check(err) // rmq.ErrNotWaiting: there is nothing to move

	all, err := client.Explain(ctx, unpaid, "order 2", "customer 12")
	check(err)
	for _, e := range all {
		fmt.Println("slot", e.Slot, "waits for", strings.Join(e.WaitsFor, ", "))
	}

	fmt.Println(removed, asked)
	// Output:
	// slot 3 waits for its time, in 2h, a worker: none listens to this topic
	// true false
}
