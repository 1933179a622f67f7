package guide_test

import (
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// First the time, then the priority: who is due in the same hour is served by weight.
func Example_forward() {
	test, end := open(rmq.Config{})
	defer end()
	client := test.Client
	weightOf := func(customer string) int64 { return map[string]int64{"ann": 100, "bob": 900}[customer] }

	planned := rmq.Topic{Name: "letters-planned", Kind: rmq.KindFixedTime}
	due := rmq.Topic{Name: "letters-due", Kind: rmq.KindPriority, Slots: 1}
	check(client.Listen(planned, rmq.Forward(client, due, func(d *rmq.Delivery) rmq.Message {
		return rmq.Priority{Content: d.Content, Priority: weightOf(d.Content)}
	}), rmq.ListenOptions{}))
	check(client.Listen(due, rmq.ListenerFunc(show), rmq.ListenOptions{}))

	for _, customer := range []string{"ann", "bob"} {
		_, err := client.Send(ctx, planned, rmq.FixedTime{Content: customer, In: time.Hour})
		check(err)
	}
	check(client.Start(ctx))
	test.Advance(59 * time.Minute)
	fmt.Println("nothing yet")
	test.Advance(time.Minute)
	// Unordered output:
	// nothing yet
	// ann
	// bob
}
