package rmq_test

import (
	"context"

	"github.com/slotmq/go-rmq/internal/testing/exampletest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqtest"
)

// The examples run on an in-memory Redis whose clock they move. In a program of yours a
// client comes from rmq.New, and time passes by itself.

// exampleClient is a client, and what an example needs of a test.
type exampleClient struct {
	*rmqtest.Client
	end func()
}

// open is rmq.New on an in-memory Redis.
func open(cfg rmq.Config) exampleClient {
	t := new(exampletest.T)
	return exampleClient{rmqtest.New(t, cfg), t.End}
}

// close ends the client and its Redis.
func (c exampleClient) close() { c.end() }

// listen is Client.Listen and Client.Start.
func (c exampleClient) listen(t rmq.Topic, l rmq.ListenerFunc, o rmq.ListenOptions) {
	check(c.Listen(t, l, o))
	check(c.Start(context.Background()))
}

// send is Client.Send, without its error.
func (c exampleClient) send(t rmq.Topic, m rmq.Message) rmq.Receipt {
	receipt, err := c.Send(context.Background(), t, m)
	check(err)
	return receipt
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
