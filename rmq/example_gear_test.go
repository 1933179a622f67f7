package rmq_test

import (
	"context"
	"fmt"
	"testing"

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
	t := new(exampleTB)
	return exampleClient{rmqtest.New(t, cfg), t.end}
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

// exampleTB stands for the *testing.T that examples do not have.
type exampleTB struct {
	testing.TB
	atEnd []func()
}

func (t *exampleTB) Helper()                   {}
func (t *exampleTB) Cleanup(f func())          { t.atEnd = append(t.atEnd, f) }
func (t *exampleTB) Error(args ...any)         { fmt.Println(args...) }
func (t *exampleTB) Fatal(args ...any)         { panic(fmt.Sprint(args...)) }
func (t *exampleTB) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (t *exampleTB) Logf(string, ...any)       {}

func (t *exampleTB) end() {
	for i := len(t.atEnd) - 1; i >= 0; i-- {
		t.atEnd[i]()
	}
}
