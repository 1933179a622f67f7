package guide_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqtest"
)

var reports = rmq.Topic{Name: "reports", Kind: rmq.KindFixedTime}

// startReports is what each instance does when it starts, with a client of its own.
func startReports(ctx context.Context, client *rmq.Client) error {
	err := client.Listen(reports, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		return writeMissing(ctx) // the reports of all nights that have none yet
	}), rmq.ListenOptions{Timeout: time.Hour})
	if err != nil {
		return err
	}
	err = client.Every(ctx, reports, rmq.Recurring{
		Name: "nightly", Content: "report", Cron: "0 3 * * *", Zone: "Europe/Berlin",
	})
	if err != nil {
		return err
	}
	return client.Start(ctx)
}

// writeMissing stands for the work.
var writeMissing func(ctx context.Context) error

// atNoon moves the clock to a noon in Berlin, so that the nights are easy to count.
func atNoon(test *rmqtest.Client) (noon time.Time) {
	zone, err := time.LoadLocation("Europe/Berlin")
	check(err)
	now := test.Now().In(zone)
	noon = time.Date(now.Year()+1, time.January, 15, 12, 0, 0, 0, zone)
	test.Advance(noon.Sub(now))
	return noon
}

// missing tells the nights without a report, up to now, each once.
func missing(test *rmqtest.Client) (nights func() []int) {
	noon, written := test.Now(), 0
	return func() (all []int) {
		for written < int(test.Now().Sub(noon)+9*time.Hour)/int(24*time.Hour) {
			written++
			all = append(all, written)
		}
		return all
	}
}

// A report each night, once, whatever number of instances there are.
func Example_cron() {
	test, end := open(rmq.Config{})
	defer end()
	noon := atNoon(test)
	nights, fails := missing(test), true
	writeMissing = func(context.Context) error {
		after := test.Now().Sub(noon)
		if after > 24*time.Hour && fails {
			fails = false
			fmt.Println("after", after, "the database is away")
			return errors.New("the database is away")
		}
		fmt.Println("after", after, "night", nights())
		return nil
	}

	var instances []*rmq.Client
	for range 3 {
		client, err := rmq.New(rmq.Config{Redis: test.Redis(), Backoff: rmq.Schedule(time.Hour)})
		check(err)
		check(startReports(ctx, client))
		instances = append(instances, client)
	}
	test.Advance(2 * 24 * time.Hour)
	check(instances[0].Close(ctx))
	test.Advance(24 * time.Hour)
	for _, client := range instances[1:] {
		check(client.Close(ctx))
	}
	// Output:
	// after 15h0m0s night [1]
	// after 39h0m0s the database is away
	// after 40h0m0s night [2]
	// after 63h0m0s night [3]
}

// After three nights without any instance, one message makes up for them.
func Example_cronAfterAnOutage() {
	test, end := open(rmq.Config{})
	defer end()
	atNoon(test)
	nights := missing(test)
	writeMissing = func(context.Context) error {
		fmt.Println("nights", nights())
		return nil
	}
	check(test.Every(ctx, reports, rmq.Recurring{Name: "nightly", Content: "report", Cron: "0 3 * * *", Zone: "Europe/Berlin"}))
	test.Advance(3 * 24 * time.Hour) // no instance runs
	check(startReports(ctx, test.Client))
	test.Advance(0)
	test.Advance(24 * time.Hour)
	// Output:
	// nights [1 2 3]
	// nights [4]
}

// Rules of all kinds, and who they are for.
func Example_rules() {
	test, end := open(rmq.Config{})
	defer end()
	noon, client := atNoon(test), test.Client

	rules := []rmq.Recurring{
		{Name: "once", Content: "look at the import", Delay: time.Minute},
		{Name: "again", Content: "look at the queue", Period: 10 * time.Second},
		{Name: "thrice", Content: "remind Ann", Delay: time.Hour, Period: 24 * time.Hour, Repeat: 2},
		{Name: "hourly", Content: "sample", Cron: "@hourly", Period: time.Second, Repeat: 9}, // ten times each full hour
		{Name: "in office hours", Content: "poll", Cron: "*/10 9-17 * * mon-fri", Zone: "America/New_York", Missed: rmq.MissedSkip},
	}
	for _, rule := range rules {
		check(client.Every(ctx, reports, rule))
	}
	plans, err := client.Plans(ctx, reports)
	check(err)
	for _, p := range plans {
		fmt.Printf("%s: %s, in %v\n", p.Name, p.Content, p.Next.Sub(noon))
	}
	check(client.StopEvery(ctx, reports, "again"))
	plans, err = client.Plans(ctx, reports)
	check(err)
	fmt.Println(len(plans), "are left")
	// Output:
	// again: look at the queue, in 10s
	// hourly: sample, in 1s
	// in office hours: poll, in 3h0m0s
	// once: look at the import, in 1m0s
	// thrice: remind Ann, in 1h0m0s
	// 4 are left
}
