package rmq_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// Each death is reported once, or now and then twice: to page someone, or to note it in your
// database.
func ExampleClient_ListenDead() {
	client := open(rmq.Config{})
	defer client.close()

	orders := rmq.Topic{Name: "orders", Kind: rmq.KindPriority}
	check(client.ListenDead(orders, func(ctx context.Context, d *rmq.Death) error {
		fmt.Println(d.Content, "is dead:", d.Reason)
		return nil
	}))
	client.listen(orders, func(context.Context, *rmq.Delivery) error {
		return rmq.Dead(errors.New("no such tax code"))
	}, rmq.ListenOptions{})
	client.send(orders, rmq.Priority{Content: "order 4711", Priority: 100})
	client.Advance(time.Second)
	// Output: order 4711 is dead: no such tax code
}

// Messages that died are also sent to another topic, where a listener of their own handles
// them.
func ExampleListenOptions_deadTopic() {
	client := open(rmq.Config{})
	defer client.close()

	orders := rmq.Topic{Name: "orders", Kind: rmq.KindPriority}
	apologies := rmq.Topic{Name: "apologies", Kind: rmq.KindFixedTime}
	check(client.Listen(apologies, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		fmt.Println("sorry for", d.Content)
		return nil
	}), rmq.ListenOptions{}))
	client.listen(orders, func(context.Context, *rmq.Delivery) error {
		return rmq.Dead(errors.New("no such tax code"))
	}, rmq.ListenOptions{DeadTopic: apologies})
	client.send(orders, rmq.Priority{Content: "order 4711", Priority: 100})
	client.Advance(time.Second)
	client.Advance(time.Second)
	// Output: sorry for order 4711
}
