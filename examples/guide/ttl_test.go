package guide_test

import (
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// An offer is of use for an hour; then nobody wants to hear of it.
func Example_timeToLive() {
	client, end := open(rmq.Config{})
	defer end()
	offers := rmq.Topic{Name: "offers", Kind: rmq.KindPriority, Notes: true}
	offer := func(what string) {
		_, err := client.Send(ctx, offers, rmq.Priority{Content: what, Priority: 100, TTL: time.Hour})
		check(err)
	}
	offer("red shoes")
	client.Advance(40 * time.Minute) // no worker runs
	offer("blue shoes")
	client.Advance(40 * time.Minute)

	check(client.Listen(offers, rmq.ListenerFunc(show), rmq.ListenOptions{
		Expired: rmq.ExpiredDrop, // by default it is dead, with the reason
	}))
	check(client.Start(ctx))
	client.Advance(0)
	// Output: blue shoes
}
