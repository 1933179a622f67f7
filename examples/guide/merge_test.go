package guide_test

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/typed"
)

type Product struct {
	ID    string
	Cents int64
}

// catalogue is the database of a shop.
type catalogue map[string]Product

func (c catalogue) load(_ context.Context, id string) (Product, error) {
	p, ok := c[id]
	if !ok {
		return p, typed.ErrGone
	}
	return p, nil
}

func draw(_ context.Context, p Product) error {
	fmt.Println("draw", p.ID, "with", p.Cents)
	return nil
}

// A thousand changes of one price, and one picture.
func Example_merge() {
	client, end := open(rmq.Config{})
	defer end()
	products := catalogue{}

	changed := typed.Ref[Product]{
		Topic:    rmq.Topic{Name: "product-changed", Kind: rmq.KindRangeMerge},
		Identity: func(p Product) string { return p.ID },
		Load:     products.load, // reads the product from your database
	}
	check(changed.Listen(client, func(ctx context.Context, d *typed.Delivery[Product]) error {
		return draw(ctx, d.Value) // as it is now, after all changes
	}, rmq.ListenOptions{}))
	check(client.Start(ctx))

	save := func(p Product) error {
		products[p.ID] = p // first the change, and then the message about it
		_, err := changed.Send(ctx, client, p, typed.Within(10*time.Second))
		return err
	}
	for cents := range int64(1000) {
		check(save(Product{"bike", cents}))
	}
	check(save(Product{"boat", 7}))
	delete(products, "boat") // sold before the picture was drawn: ErrGone, so nothing to do
	client.Advance(10 * time.Second)
	// Output: draw bike with 999
}

// A search index that is built when a page has not been edited for a second.
func Example_debounce() {
	client, end := open(rmq.Config{})
	defer end()
	edits := rmq.Topic{Name: "edits", Kind: rmq.KindFixedTime}
	check(client.Listen(edits, rmq.ListenerFunc(show), rmq.ListenOptions{}))
	check(client.Start(ctx))

	for range 20 {
		_, err := client.Send(ctx, edits, rmq.FixedTime{Content: "page 12", In: time.Second})
		check(err)
		client.Advance(100 * time.Millisecond)
	}
	fmt.Println("no more edits")
	client.Advance(time.Second)
	// Output:
	// no more edits
	// page 12
}

// The same after two seconds, but the index is never more than thirty seconds behind.
func Example_ceiling() {
	client, end := open(rmq.Config{})
	defer end()
	edits := rmq.Topic{Name: "edits", Kind: rmq.KindRangeMerge}
	check(client.Listen(edits, rmq.ListenerFunc(show), rmq.ListenOptions{}))
	check(client.Start(ctx))

	save := func(page string) {
		_, err := client.Send(ctx, edits, rmq.RangeMerge{
			Content: page, Range: 2 * time.Second, Extend: true, Ceiling: 30 * time.Second,
		})
		check(err)
	}
	for range 40 {
		save("page 12")
		client.Advance(time.Second)
	}
	fmt.Println("no more edits")
	client.Advance(time.Second)
	// Output:
	// page 12
	// no more edits
	// page 12
}
