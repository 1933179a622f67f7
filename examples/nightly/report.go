package main

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

var reports = rmq.Topic{Name: "reports", Kind: rmq.KindFixedTime}

// nightly is the rule: each night at three.
var nightly = rmq.Recurring{Name: "nightly", Content: "report", Cron: "0 3 * * *", Zone: "Europe/Berlin"}

// instance is one of those of a service. All of them do the same when they start.
type instance struct {
	name   string
	client *rmq.Client
	write  func(by string, d *rmq.Delivery) // the report; a real one would return an error, too
}

// start declares the report, whoever has done so before, and begins to work.
func (x *instance) start(ctx context.Context, rule rmq.Recurring) error {
	err := x.client.Listen(reports, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		x.write(x.name, d)
		return nil
	}), rmq.ListenOptions{Due: true, Timeout: time.Hour})
	if err != nil {
		return err
	}
	if err := x.client.Every(ctx, reports, rule); err != nil {
		return err
	}
	return x.client.Start(ctx)
}
