package rmqtest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/exampletest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqtest"
)

// A message that is due tomorrow is handled in no time, because the test moves
// the clock.
func Example() {
	t := new(exampletest.T) // in a test of yours: its *testing.T
	defer t.End()

	c := rmqtest.New(t, rmq.Config{})
	reminders := rmq.Topic{Name: "reminders", Kind: rmq.KindFixedTime}
	err := c.Listen(reminders, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		fmt.Println("handled:", d.Content)
		return nil
	}), rmq.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	tomorrow := c.Now().Add(24 * time.Hour)
	if _, err := c.Send(context.Background(), reminders, rmq.FixedTime{Content: "call Ann", At: tomorrow}); err != nil {
		t.Fatal(err)
	}

	c.Advance(24*time.Hour - time.Millisecond)
	fmt.Println("a millisecond to go")
	c.Advance(time.Millisecond) // returns when the listener has returned
	// Output:
	// a millisecond to go
	// handled: call Ann
}

// Retries come when their time has come, on the way that Advance goes.
func Example_retries() {
	t := new(exampletest.T)
	defer t.End()

	c := rmqtest.New(t, rmq.Config{Backoff: rmq.Schedule(time.Second, time.Minute)})
	begin := c.Now()
	mails := rmq.Topic{Name: "mails", Kind: rmq.KindPriority}
	err := c.Listen(mails, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		fmt.Printf("delivery %d after %v\n", d.Attempt, c.Now().Sub(begin))
		if d.Attempt < 4 {
			return errors.New("the mail server is away")
		}
		return nil
	}), rmq.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send(context.Background(), mails, rmq.Priority{Content: "invoice 7", Priority: 100}); err != nil {
		t.Fatal(err)
	}
	c.Advance(time.Hour)
	// Output:
	// delivery 1 after 0s
	// delivery 2 after 1s
	// delivery 3 after 1m1s
	// delivery 4 after 2m1s
}
