package typed_test

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/exampletest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqtest"
	"github.com/slotmq/go-rmq/typed"
)

// Product is what the shop sells. Its price changes in floods, and drawing its picture is
// slow.
type Product struct {
	ID    string
	Cents int64
}

// A flood of changes done right: the message says which product has changed, and the
// handler looks it up. A thousand changes merge into one delivery, with the last price.
func ExampleRef() {
	client, end := inMemory()
	defer end()
	ctx := context.Background()

	database := map[string]Product{}
	changed := typed.Ref[Product]{
		Topic:    rmq.Topic{Name: "product-changed", Kind: rmq.KindRangeMerge},
		Identity: func(p Product) string { return p.ID },
		Load:     func(_ context.Context, id string) (Product, error) { return database[id], nil },
	}
	check(changed.Listen(client, func(ctx context.Context, d *typed.Delivery[Product]) error {
		fmt.Println("draw", d.Value.ID, "with", d.Value.Cents)
		return nil
	}, rmq.ListenOptions{}))
	check(client.Start(ctx))

	for cents := range int64(1000) {
		p := Product{"bike", cents}
		database[p.ID] = p
		_, err := changed.Send(ctx, client, p, typed.Within(10*time.Second))
		check(err)
	}
	client.Advance(10 * time.Second)
	// Output: draw bike with 999
}

// Order travels whole, as canonical JSON.
type Order struct {
	ID       int64
	Customer string
}

// The whole value is the content, so only equal orders merge. Those of one customer are
// handled one at a time.
func ExampleTopic() {
	client, end := inMemory()
	defer end()
	ctx := context.Background()

	orders := typed.Topic[Order]{
		Topic: rmq.Topic{Name: "orders", Kind: rmq.KindPriority},
		Basis: func(o Order) string { return o.Customer },
	}
	check(orders.Listen(client, func(ctx context.Context, d *typed.Delivery[Order]) error {
		fmt.Println("ship order", d.Value.ID, "to", d.Value.Customer)
		return nil
	}, rmq.ListenOptions{}))
	check(client.Start(ctx))
	_, err := orders.Send(ctx, client, Order{4711, "Ada"}, typed.Priority(500))
	check(err)
	client.Advance(0)
	// Output: ship order 4711 to Ada
}

// Each send is a message of its own, also of equal values.
func ExampleDistinct() {
	client, end := inMemory()
	defer end()
	ctx := context.Background()

	clicks := typed.Topic[string]{
		Topic: rmq.Topic{Name: "clicks", Kind: rmq.KindFixedTime, Slots: 1},
		Codec: typed.Distinct(typed.Raw[string]()),
	}
	n := 0
	check(clicks.Listen(client, func(context.Context, *typed.Delivery[string]) error {
		n++
		return nil
	}, rmq.ListenOptions{}))
	check(client.Start(ctx))
	for range 3 {
		_, err := clicks.Send(ctx, client, "/home", typed.In(time.Second))
		check(err)
	}
	client.Advance(time.Second)
	fmt.Println(n, "clicks")
	// Output: 3 clicks
}

// inMemory is rmq.New on an in-memory Redis, whose clock the examples move.
func inMemory() (*rmqtest.Client, func()) {
	t := new(exampletest.T)
	return rmqtest.New(t, rmq.Config{}), t.End
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
