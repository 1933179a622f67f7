package guide_test

import (
	"github.com/slotmq/go-rmq/rmq"
)

// A service allows so many requests a second. (In memory, where the clock stands still, a
// rate has no effect.)
func Example_rate() {
	client, end := open(rmq.Config{})
	defer end()
	mails, post := rmq.Topic{Name: "mails", Kind: rmq.KindFixedTime}, show

	check(client.Listen(mails, rmq.ListenerFunc(post), rmq.ListenOptions{
		Rate: rmq.Rate{PerSecond: 50}, // in all workers together
	}))

	check(client.Start(ctx))
	_, err := client.Send(ctx, mails, rmq.FixedTime{Content: "mail 4711", At: client.Now()})
	check(err)
	client.Advance(0)
	// Output: mail 4711
}
