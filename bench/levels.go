package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/rmq"
)

var levelsSection = section{
	name: "priorities", title: "Priorities",
	about: `300,000 messages of the Priority kind are sent by SendBatch of 512 from two goroutines, with priorities drawn from so many, or all
		of them different, in random order. A worker starts only when all are sent, and then handles them all. 16 slots.`,
	run: (*bench).levels,
}

func (b *bench) levels() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	var all []*contestant
	sending := map[string][]servers.Sample{}
	add := func(title string, priorities func() []int) {
		all = append(all, &contestant{name: title, title: title, run: func() (servers.Sample, error) {
			sent, handled, err := b.prioritized(p, priorities())
			sending[title] = append(sending[title], sent)
			return handled, err
		}})
	}
	for _, levels := range []int{1, 10, 1000} {
		add(report.Count(float64(levels)), func() []int {
			drawn := make([]int, standing)
			for i := range drawn {
				drawn[i] = rand.IntN(levels)
			}
			return drawn
		})
	}
	add("all different", func() []int { return rand.Perm(standing) })
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	var rows [][]string
	for _, c := range all {
		row := []string{c.title}
		for _, m := range []summary{summarize(sending[c.title]), summarize(c.all)} {
			row = append(row, report.Round(m.rate), report.Round(m.least)+" .. "+report.Round(m.most), fmt.Sprintf("%.2f", m.redis), fmt.Sprintf("%.2f", m.client))
		}
		rows = append(rows, row)
	}
	b.Table([]string{"priorities", "sent/s", "least .. most", "Redis µs", "client µs", "handled/s", "least .. most", "Redis µs", "client µs"}, rows)
	same, different := all[0], all[len(all)-1]
	b.Text("Where all priorities are different, a message costs Redis %.2f times as much to add and %.2f times as much to handle as where all are the same.",
		summarize(sending[different.title]).redis/summarize(sending[same.title]).redis, summarize(different.all).redis/summarize(same.all).redis)
	return nil
}

// prioritized sends messages of these priorities, counted from the lowest there
// is, and handles them then.
func (b *bench) prioritized(p servers.Place, priorities []int) (sent, handled servers.Sample, err error) {
	if err := p.Empty(); err != nil {
		return sent, handled, err
	}
	topic, ids := rmq.Topic{Name: "bench", Kind: rmq.KindPriority, Slots: usual}, newIdentities(len(priorities))
	messages := make([]rmq.Message, len(priorities))
	for i, above := range priorities {
		messages[i] = rmq.Priority{Content: content(i, b.payload), Priority: int64(rmq.MaxRetries + 1 + above)}
	}
	rdb := p.Dial()[0]
	defer rdb.Close()
	client, err := listening(rdb, topic, func(d *rmq.Delivery) { ids.handled(d.Content) })
	if err != nil {
		return sent, handled, err
	}
	const perCall = 512
	sent, err = p.Measure(len(messages), func() error {
		return each((len(messages)+perCall-1)/perCall, 2, func(i int) error {
			_, err := client.SendBatch(ctx, topic, messages[i*perCall:min((i+1)*perCall, len(messages))])
			return err
		})
	})
	if err == nil {
		err = holds(p, topic, len(messages))
	}
	if err != nil {
		return sent, handled, err
	}
	handled, err = handleAll(p, client, ids, nil)
	return sent, handled, err
}
