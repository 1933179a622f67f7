package guide_test

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// A code for a log-in that comes after an outage is of no use any more.
func Example_late() {
	client, end := open(rmq.Config{})
	defer end()
	codes := rmq.Topic{Name: "codes", Kind: rmq.KindFixedTime}
	for i, user := range []string{"ann", "bob"} {
		_, err := client.Send(ctx, codes, rmq.FixedTime{Content: "code for " + user, In: time.Duration(i+1) * time.Minute})
		check(err)
	}
	text := func(_ context.Context, d *rmq.Delivery) error {
		fmt.Println(d.Content, "is late by", client.Now().Sub(d.Due))
		return nil
	}
	client.Advance(150 * time.Second) // no worker runs

	check(client.Listen(codes, rmq.ListenerFunc(text), rmq.ListenOptions{
		MaxLate: time.Minute,
		Expired: rmq.ExpiredDrop, // by default it is dead, with the reason
	}))

	check(client.Start(ctx))
	client.Advance(0)
	// Output: code for bob is late by 30s
}
