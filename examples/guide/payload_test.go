package guide_test

import (
	"context"
	"fmt"

	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/typed"
)

type Mail struct {
	To   string `json:"to"`
	Text string `json:"text"`
}

// A value that travels whole, as JSON.
func Example_payload() {
	client, end := open(rmq.Config{})
	defer end()

	mails := typed.Topic[Mail]{
		Topic: rmq.Topic{Name: "mails", Kind: rmq.KindPriority},
		Basis: func(m Mail) string { return m.To }, // those to one person: one at a time
	}
	check(mails.Listen(client, func(ctx context.Context, d *typed.Delivery[Mail]) error {
		fmt.Println("to", d.Value.To+":", d.Value.Text)
		return nil
	}, rmq.ListenOptions{}))
	check(client.Start(ctx))
	_, err := mails.Send(ctx, client, Mail{To: "ann", Text: "hello"}, typed.Priority(100))
	check(err)
	client.Advance(0)
	// Output: to ann: hello
}
