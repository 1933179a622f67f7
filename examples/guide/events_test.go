package guide_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// What happens to each message, for an audit, an alert, or figures of your own.
func Example_events() {
	lines := make(chan string, 1000)
	audit := message.ObserverFunc(func(e *message.Event) {
		for _, item := range e.Items {
			switch item.What {
			case message.Sent, message.Done, message.Failed, message.Died:
				select {
				case lines <- fmt.Sprintf("%s %s: %v", e.Topic.Name, item.Content, item.What):
				default: // never wait: the queue would wait, too
				}
			}
		}
	})
	client, end := open(rmq.Config{Observers: []rmq.Observer{audit}, Backoff: rmq.Schedule(time.Minute)})
	defer end()

	mails := rmq.Topic{Name: "mails", Kind: rmq.KindPriority}
	_, err := client.Send(ctx, mails, rmq.Priority{Content: "mail 1", Priority: 100})
	check(err)
	check(client.Listen(mails, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		if d.Attempt == 1 {
			return errors.New("the mail server is away")
		}
		return nil
	}), rmq.ListenOptions{}))
	check(client.Start(ctx))
	client.Advance(time.Minute)
	end()
	close(lines)
	for line := range lines {
		fmt.Println(line)
	}
	// Output:
	// mails mail 1: sent
	// mails mail 1: failed
	// mails mail 1: done
}

// What each delivery comes to, in the handler's goroutine.
func Example_middleware() {
	logged := func(next rmq.MessageListener) rmq.MessageListener {
		return rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
			err := next.OnMessage(ctx, d)
			fmt.Println(d.Content, "attempt", d.Attempt, consumer.OutcomeOf(ctx, d, err), err)
			return err // as it is: it decides what becomes of the message
		})
	}
	client, end := open(rmq.Config{Middleware: []rmq.Middleware{logged}, MaxAttempts: 2, Backoff: rmq.Schedule(time.Minute)})
	defer end()

	mails := rmq.Topic{Name: "mails", Kind: rmq.KindPriority}
	_, err := client.Send(ctx, mails, rmq.Priority{Content: "mail 1", Priority: 100})
	check(err)
	check(client.Listen(mails, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error {
		return errors.New("the mail server is away")
	}), rmq.ListenOptions{}))
	check(client.Start(ctx))
	client.Advance(time.Hour)
	// Output:
	// mail 1 attempt 1 failed the mail server is away
	// mail 1 attempt 2 died the mail server is away
}
