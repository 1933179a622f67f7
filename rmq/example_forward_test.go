package rmq_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// Time first, then priority: newsletters that are due together go to the best customers
// first.
func ExampleForward() {
	client := open(rmq.Config{})
	defer client.close()

	planned := rmq.Topic{Name: "newsletters-planned", Kind: rmq.KindFixedTime}
	due := rmq.Topic{Name: "newsletters-due", Kind: rmq.KindPriority, Slots: 1}
	check(client.Listen(planned, rmq.Forward(client.Client.Client, due, func(d *rmq.Delivery) rmq.Message {
		_, weight, _ := strings.Cut(d.Content, " weight ")
		priority, _ := strconv.ParseInt(weight, 10, 64)
		return rmq.Priority{Content: d.Content, Priority: priority}
	}), rmq.ListenOptions{}))
	client.listen(due, func(_ context.Context, d *rmq.Delivery) error {
		fmt.Println(d.Content)
		return nil
	}, rmq.ListenOptions{})
	client.send(planned, rmq.FixedTime{Content: "ada weight 900", In: time.Hour})
	client.Advance(time.Hour)
	// Output: ada weight 900
}

// broker is any other broker that a program has a client of.
type broker interface {
	Publish(ctx context.Context, subject string, data []byte) error
}

type printer struct{}

func (printer) Publish(_ context.Context, subject string, data []byte) error {
	fmt.Printf("%s: %s\n", subject, data)
	return nil
}

// Into another broker, when the time has come: what it cannot do itself, be it a delay of
// months or merging, is done here.
func ExampleForward_otherBroker() {
	client := open(rmq.Config{})
	defer client.close()

	var other broker = printer{}
	reminders := rmq.Topic{Name: "reminders", Kind: rmq.KindFixedTime}
	client.listen(reminders, func(ctx context.Context, d *rmq.Delivery) error {
		return other.Publish(ctx, "reminders.due", []byte(d.Content)) // an error: again after the back-off
	}, rmq.ListenOptions{})
	client.send(reminders, rmq.FixedTime{Content: "passport of ada", In: 90 * 24 * time.Hour})
	client.Advance(90 * 24 * time.Hour)
	// Output: reminders.due: passport of ada
}
