package guide_test

import (
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/rmq"
)

// A program asks for a message when it has time for one, and says later what became of it.
func Example_take() {
	client, end := open(rmq.Config{})
	defer end()
	orders, rdb := rmq.Topic{Name: "orders", Kind: rmq.KindPriority}, client.Redis()
	for priority, content := range map[int64]string{900: "order 1", 100: "order 2"} {
		_, err := client.Send(ctx, orders, rmq.Priority{Content: content, SlotBasis: "customer 12", Priority: priority})
		check(err)
	}

	p, err := poll.New(poll.Config{Redis: rdb})
	check(err)
	defer p.Close(ctx)
	for {
		held, err := p.Take(ctx, []string{"orders"}, poll.Take{TTR: time.Minute, Wait: time.Second})
		check(err)
		if held == nil {
			break // nothing came
		}
		fmt.Println(held.Messages[0].Content, "attempt", held.Attempt)
		counted, err := p.Finish(ctx, held.Receipt) // or poll.Failed(why, 0), poll.Later(...), poll.Dead(why)
		check(err)
		fmt.Println("done:", counted)
	}
	// Output:
	// order 1 attempt 1
	// done: true
	// order 2 attempt 1
	// done: true
}
