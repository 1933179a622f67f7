package guide_test

import (
	"github.com/slotmq/go-rmq/rmq"
)

// Who pays more is served first, and who waits can be moved to the front.
func Example_priority() {
	client, end := open(rmq.Config{})
	defer end()

	photos := rmq.Topic{Name: "photos", Kind: rmq.KindPriority, Slots: 1} // one order for all of it
	plans := map[string]int64{"free": 100, "paid": 500, "gold": 900}
	for _, p := range []struct{ photo, plan string }{{"a.png", "free"}, {"b.png", "gold"}, {"c.png", "paid"}, {"d.png", "free"}} {
		_, err := client.Send(ctx, photos, rmq.Priority{Content: p.photo, Priority: plans[p.plan]})
		check(err)
	}
	// A user looks at d.png right now: sent again, it has the new priority.
	_, err := client.Send(ctx, photos, rmq.Priority{Content: "d.png", Priority: 1000})
	check(err)

	check(client.Listen(photos, rmq.ListenerFunc(show), rmq.ListenOptions{}))
	check(client.Start(ctx))
	client.Advance(0)
	// Output:
	// d.png
	// b.png
	// c.png
	// a.png
}
