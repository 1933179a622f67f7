package main

import (
	"fmt"
	"slices"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
)

var ablationsSection = section{
	name: "ablations", title: "What each rule is worth",
	about: `One rule of RMQ is taken out of its source, the benchmark is built with that, and runs in turns with the unchanged one, each round
		in a process of its own on an empty Redis: send and handle at once, or handle a backlog. 16 slots unless said. Slow ones have fewer
		messages. A turn for each message is not paced either, or the pauses would make it slower still.`,
	run: (*bench).ablations,
}

// ablation is a product without one of its rules.
type ablation struct {
	name, title string
	role        string
	slots, few  int // 1/few of the messages
	changes     []change
}

// fixed makes every batch as large, at the most.
func fixed(batch int) []change {
	return []change{{"internal/worker/intake/size.go", "(s *Size) Count(together int) int {\n", fmt.Sprintf("(s *Size) Count(together int) int {\n\treturn %d\n", batch)}}
}

var unpaced = []change{{"internal/worker/intake/pace.go", "gapUnit, gapPower = 10.7, 0.75", "gapUnit, gapPower = 0, 0.75"}}

var ownContexts = []change{{"consumer/batch.go", "\t\tb.call(ctx, i, b.delivery(i))", `		_ = ctx
		one, end := context.WithTimeoutCause(b.term().Handlers(), b.topic.opts.Timeout, ErrTimeout)
		b.call(one, i, b.delivery(i))
		end()`}}

var apart = []change{{"producer/flight.go", "flightMessages = 4096", "flightMessages = 1"}}

var polling = []change{
	{"consumer/turns.go", "a.Slot.Rest(a.Slot.Facts, at)", "_ = at\n\ta.Slot.Rest(a.Slot.Facts, time.Now().Add(time.Millisecond))"},
	{"producer/wake.go", "planWakes(f *flight) {\n", "planWakes(f *flight) {\n\treturn\n"},
}

var ablations = []ablation{
	{"batch 1, backlog", "a turn for each message: backlog", "drain", usual, 8, slices.Concat(fixed(1), unpaced)},
	{"batch 1", "a turn for each message", "both", usual, 8, slices.Concat(fixed(1), unpaced)},
	{"contexts, backlog", "a context with a timeout for each message: backlog", "drain", usual, 1, ownContexts},
	{"contexts", "a context with a timeout for each message", "both", usual, 1, ownContexts},
	{"unpipelined", "a write for each Send, one after the other", "both", usual, 16, apart},
	{"unpaced", "no pacing, 256 slots", "both", 256, 2, unpaced},
}

func (b *bench) ablations() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	var all []*contestant // each behind the product as it is
	for _, a := range ablations {
		b.progress.Say("building: %s", a.name)
		changed, err := b.build(a.changes)
		if err != nil {
			return err
		}
		all = append(all, b.childContestant("as it is", b.self, a.role, p, a.slots, b.messages/min(2, a.few)),
			b.childContestant(a.name, changed, a.role, p, a.slots, b.messages/a.few))
	}
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	var rows [][]string
	for i, a := range ablations {
		x, y := summarize(all[2*i].all), summarize(all[2*i+1].all)
		rows = append(rows, []string{a.title, report.Round(x.rate), report.Round(x.least) + " .. " + report.Round(x.most),
			report.Round(y.rate), report.Round(y.least) + " .. " + report.Round(y.most), fmt.Sprintf("%.2f", y.rate/x.rate),
			fmt.Sprintf("%.2f", x.redis), fmt.Sprintf("%.2f", y.redis), fmt.Sprintf("%.2f", x.client), fmt.Sprintf("%.2f", y.client)})
	}
	b.Table([]string{"changed so that there is", "messages/s as it is", "least .. most", "changed", "least .. most", "ratio",
		"Redis µs as it is", "changed", "client µs as it is", "changed"}, rows)
	return b.polls(p)
}

// childContestant runs its rounds in children.
func (b *bench) childContestant(name, program, role string, p servers.Place, slots, messages int) *contestant {
	return &contestant{name: name, title: name, run: func() (servers.Sample, error) {
		got, err := b.inChild(program, b.request(role, p, slots, messages))
		return got.Sample, err
	}}
}
