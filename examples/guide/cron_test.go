package guide_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqtest"
)

// nextNight is the first time after t at which the report is due: each day at 04:00 UTC.
func nextNight(t time.Time) time.Time {
	t = t.UTC()
	next := time.Date(t.Year(), t.Month(), t.Day(), 4, 0, 0, 0, time.UTC)
	if !next.After(t) {
		next = next.AddDate(0, 0, 1)
	}
	return next
}

var reports = rmq.Topic{Name: "reports", Kind: rmq.KindFixedTime}

// sendReport asks for the first report after t.
func sendReport(ctx context.Context, client *rmq.Client, t time.Time) error {
	night := nextNight(t)
	_, err := client.Send(ctx, reports, rmq.FixedTime{
		Content:   "report " + night.Format(time.RFC3339), // each night is a message of its own
		SlotBasis: "report",                               // all in one slot: never two at once
		At:        night,
	})
	return err
}

func writeReport(client *rmq.Client) rmq.ListenerFunc {
	return func(ctx context.Context, d *rmq.Delivery) error {
		night, err := time.Parse(time.RFC3339, strings.TrimPrefix(d.Content, "report "))
		if err != nil {
			return rmq.Dead(err)
		}
		if err := sendReport(ctx, client, night); err != nil { // the next one first
			return err
		}
		return write(ctx, night)
	}
}

// write stands for the work. The second night it fails at first.
var write func(ctx context.Context, night time.Time) error

// atNoon moves the clock to the next noon, so that the nights are easy to count.
func atNoon(client *rmqtest.Client) (noon time.Time) {
	noon = nextNight(client.Now()).Add(8 * time.Hour)
	client.Advance(noon.Sub(client.Now()))
	return noon
}

// A report each night, once, whatever number of instances there are.
func Example_cron() {
	test, end := open(rmq.Config{Backoff: rmq.Schedule(time.Hour)})
	defer end()
	noon, client := atNoon(test), test.Client
	write = func(_ context.Context, night time.Time) error {
		n := int(night.Sub(noon)/(24*time.Hour)) + 1
		fmt.Printf("night %d, %v late\n", n, test.Now().Sub(night))
		if n == 2 && test.Now().Equal(night) {
			return errors.New("the database is away")
		}
		return nil
	}

	check(client.Listen(reports, writeReport(client), rmq.ListenOptions{Timeout: time.Hour}))
	check(client.Start(ctx))
	for range 5 { // instances that start
		check(sendReport(ctx, client, test.Now())) // time.Now() in a program of yours
	}
	test.Advance(3 * 24 * time.Hour)
	// Output:
	// night 1, 0s late
	// night 2, 0s late
	// night 2, 1h0m0s late
	// night 3, 0s late
}

// After three days without any instance, each night that was missed is made up for.
func Example_cronAfterAnOutage() {
	test, end := open(rmq.Config{})
	defer end()
	noon, client := atNoon(test), test.Client
	write = func(_ context.Context, night time.Time) error {
		fmt.Printf("night %d\n", int(night.Sub(noon)/(24*time.Hour))+1)
		return nil
	}
	check(sendReport(ctx, client, noon))
	test.Advance(3 * 24 * time.Hour) // no instance runs
	check(client.Listen(reports, writeReport(client), rmq.ListenOptions{}))
	check(client.Start(ctx))
	check(sendReport(ctx, client, test.Now()))
	test.Advance(0)
	fmt.Println("a day later")
	test.Advance(24 * time.Hour)
	// Output:
	// night 1
	// night 2
	// night 3
	// a day later
	// night 4
}
