package guide_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqtest"
)

var errNoAccount = errors.New("no such account")

// busy is what a bank answers that wants to be asked later.
type busy struct{ until time.Duration }

func (b busy) Error() string { return "too many requests" }

// bank answers in several ways.
type bank struct {
	client *rmqtest.Client
	begin  time.Time
	asked  map[string]int
}

func (b *bank) charge(_ context.Context, payment string) (err error) {
	b.asked[payment]++
	switch {
	case payment == "payment 1":
		err = errNoAccount
	case payment == "payment 2" && b.asked[payment] == 1:
		err = busy{until: 10 * time.Minute}
	case payment == "payment 3":
		err = errors.New("the bank does not answer")
	}
	fmt.Println(payment, "after", b.client.Now().Sub(b.begin), err)
	return err
}

// An array of pauses, and the errors for which they do not hold.
func Example_retries() {
	client, end := open(rmq.Config{})
	defer end()
	payments := rmq.Topic{Name: "payments", Kind: rmq.KindPriority, Slots: 1}
	for n := range 3 {
		_, err := client.Send(ctx, payments, rmq.Priority{Content: fmt.Sprint("payment ", n+1), Priority: int64(100 - n)})
		check(err)
	}
	bank := &bank{client: client, begin: client.Now(), asked: map[string]int{}}

	check(client.Listen(payments, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		err := bank.charge(ctx, d.Content)
		var wait busy
		switch {
		case errors.Is(err, errNoAccount):
			return rmq.Dead(err) // no retry helps
		case errors.As(err, &wait):
			return rmq.RetryAfter(wait.until, err) // the bank said when
		}
		return err // nil is done; any other error comes again after the next pause
	}), rmq.ListenOptions{
		MaxAttempts: 4,
		Backoff:     rmq.Schedule(time.Second, time.Minute, time.Hour),
	}))
	check(client.Start(ctx))
	client.Advance(24 * time.Hour)

	rdb := client.Redis()
	hand, err := inspector.New(rdb, inspector.Config{})
	check(err)
	query := inspector.DeadQuery{Reason: "does not answer"}
	done, err := hand.Dead().Requeue(ctx, "payments", query, inspector.RequeueOptions{Rate: 100}) // a second
	check(err)
	client.Advance(0)
	fmt.Println(done.Stored, "requeued")
	// Output:
	// payment 1 after 0s no such account
	// payment 2 after 0s too many requests
	// payment 3 after 0s the bank does not answer
	// payment 3 after 1s the bank does not answer
	// payment 3 after 1m1s the bank does not answer
	// payment 2 after 10m0s <nil>
	// payment 3 after 1h1m1s the bank does not answer
	// payment 3 after 24h0m0s the bank does not answer
	// 1 requeued
}
