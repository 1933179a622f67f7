package main

import (
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/rmq"
)

var extrasSection = section{
	name: "extras", title: "What a message costs that asks for more", alone: true,
	about: `Send and handle at once on 16 slots, in turns: plain messages, those that later sends move up to a ceiling, unique ones, and those of a topic with
		notes, whose handlers are told the note. Each message has a content of its own, so nothing merges. "To plain" is the median of the ratios of pairs of rounds. With -before, plain messages are
		also measured beside the benchmark of an older commit, each round in a process of its own, four times as many rounds as elsewhere;
		the last columns are how many times as many of them pass for a second of CPU, and at all. Last, a worker of 1,000 topics of 16 slots
		with nothing to do, alone on its Redis for 60 s, without plans, and with one in each topic that is not due.`,
	run: (*bench).extras,
}

// extra is a message that asks for something.
type extra struct {
	title string
	topic rmq.Topic
	send  func(client *rmq.Client, topic rmq.Topic, content string) error
}

// extras begin with the plain one, with which the others are compared.
var extras = []extra{
	{"plain", benchTopic, sendPlain},
	{"Extend, with a Ceiling", benchTopic, func(client *rmq.Client, topic rmq.Topic, content string) error {
		_, err := client.Send(ctx, topic, rmq.RangeMerge{Content: content, Range: time.Millisecond, Extend: true, Ceiling: time.Second})
		return err
	}},
	{"Unique", benchTopic, func(client *rmq.Client, topic rmq.Topic, content string) error {
		_, err := client.Send(ctx, topic, rmq.RangeMerge{Content: content, Range: time.Millisecond, Unique: time.Hour})
		return err
	}},
	{"in a topic with Notes", notedTopic, sendPlain},
	{"with a TTL", notedTopic, func(client *rmq.Client, topic rmq.Topic, content string) error {
		_, err := client.Send(ctx, topic, rmq.RangeMerge{Content: content, Range: time.Millisecond, TTL: time.Hour})
		return err
	}},
	{"with headers", notedTopic, func(client *rmq.Client, topic rmq.Topic, content string) error {
		_, err := client.Send(ctx, topic, rmq.RangeMerge{Content: content, Range: time.Millisecond, Headers: benchHeaders})
		return err
	}},
}

var benchHeaders = map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}

var benchTopic = rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge, Slots: usual}

var notedTopic = rmq.Topic{Name: "noted", Kind: rmq.KindRangeMerge, Slots: usual, Notes: true}

func (b *bench) extras() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	var all []*contestant
	for _, x := range extras {
		all = append(all, &contestant{name: x.title, title: x.title, run: func() (servers.Sample, error) {
			return b.sendAndHandle(p, x.topic, b.messages/2, x.send)
		}})
	}
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	var rows [][]string
	for _, c := range all {
		m := summarize(c.all)
		rows = append(rows, []string{c.title, report.Round(m.rate), report.Round(m.least) + " .. " + report.Round(m.most),
			fmt.Sprintf("%.2f", m.redis), short(median(pairs(c, all[0], redisMicros))), fmt.Sprintf("%.2f", m.client),
			short(median(pairs(c, all[0], clientMicros))), fmt.Sprintf("%.2f", m.mallocs)})
	}
	b.Table([]string{"", "messages/s", "least .. most", "Redis µs", "to plain", "client µs", "to plain", "allocations"}, rows)
	if b.before != "" {
		if err := b.untouched(p); err != nil {
			return err
		}
	}
	return b.resting()
}

// untouched compares plain messages with those of an older build.
func (b *bench) untouched(p servers.Place) error {
	works := []struct {
		title, role string
		slots       int
	}{
		{"send and handle at once, 16 slots", "both", usual},
		{"send and handle at once, 64 slots", "both", limits.DefaultSlots},
		{"handle a backlog, 16 slots", "drain", usual},
	}
	var all []*contestant // each behind the older build
	for _, w := range works {
		all = append(all, b.childContestant("before: "+w.title, b.before, w.role, p, w.slots, b.messages),
			b.childContestant(w.title, b.self, w.role, p, w.slots, b.messages))
	}
	if err := b.interleave(all, 4*b.rounds); err != nil {
		return err
	}
	var rows [][]string
	for i, w := range works {
		before, now := all[2*i], all[2*i+1]
		row := []string{w.title}
		for _, cost := range []func(servers.Sample) float64{redisMicros, clientMicros} {
			row = append(row, fmt.Sprintf("%.2f", median(column(before.all, cost))), fmt.Sprintf("%.2f", median(column(now.all, cost))),
				fmt.Sprintf("%.3f", median(pairs(before, now, cost))))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.3f", median(pairs(now, before, servers.Sample.Rate)))))
	}
	b.Table([]string{"plain messages", "Redis µs before", "now", "messages for a second of it", "client µs before", "now", "messages for a second of it", "messages/s"}, rows)
	return nil
}
