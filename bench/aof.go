package main

import (
	"errors"

	"github.com/slotmq/go-rmq/bench/internal/servers"
)

var aofSection = section{
	name: "aof", title: "With an append-only file",
	about: `Send and handle at once, as in the first table, on a Redis without persistence and on one that keeps an append-only file and asks the
		disk to store it every second (appendonly yes, appendfsync everysec).`,
	run: (*bench).aof,
}

func (b *bench) aof() error {
	none, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	kept, err := b.fleet.Apart(1, "--appendonly", "yes", "--appendfsync", "everysec")
	if err != nil {
		return err
	}
	if kept.Servers[0].Rdb.ConfigGet(ctx, "appendonly").Val()["appendonly"] != "yes" {
		return errors.New("the server keeps no append-only file")
	}
	few := b.messages / 20
	all := []*contestant{
		{name: "RMQ", title: "RMQ, no persistence", run: func() (servers.Sample, error) { return b.bothRMQ(none, usual, b.messages) }},
		{name: "RMQ AOF", title: "RMQ, append-only file", run: func() (servers.Sample, error) { return b.bothRMQ(kept, usual, b.messages) }},
		{name: "asynq", title: "asynq, no persistence", run: func() (servers.Sample, error) { return b.bothAsynq(none, few, asynqWorkers) }},
		{name: "asynq AOF", title: "asynq, append-only file", run: func() (servers.Sample, error) { return b.bothAsynq(kept, few, asynqWorkers) }},
	}
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	b.compare(all)
	x, y, a, c := summarize(all[0].all), summarize(all[1].all), summarize(all[2].all), summarize(all[3].all)
	b.Text("With an append-only file RMQ handles %.2f times as many messages a second as without, asynq %.2f times; with it, RMQ handles %.1f times as many as asynq.",
		y.rate/x.rate, c.rate/a.rate, y.rate/c.rate)
	return nil
}
