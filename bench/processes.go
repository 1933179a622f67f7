package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/sharing/share"
	"github.com/slotmq/go-rmq/rmq"
)

var processesSection = section{
	name: "processes", title: "Several processes",
	about: `The workers share the slots before the clock starts; then the senders begin, with 256 callers of Send altogether, and the clock
		stops when the last message is handled. Every worker and every sender is a process with a client of its own. All are on the same
		processors, so more of them cannot be faster: what counts is what they cost together. At the end the messages of all workers are
		compared: every message was handled by exactly one of them, once.`,
	run: (*bench).processes,
}

// company is so many processes at one topic.
type company struct{ workers, senders, slots int }

func (b *bench) processes() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	var all []*contestant
	companies := []company{{1, 1, usual}, {2, 1, usual}, {4, 1, usual}, {2, 2, usual}, {4, 4, usual}, {1, 1, 64}, {4, 1, 64}}
	for _, c := range companies {
		name := fmt.Sprintf("%d and %d at %d", c.workers, c.senders, c.slots)
		all = append(all, &contestant{name: name, run: func() (servers.Sample, error) { return b.together(p, c, b.messages/2) }})
	}
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	var rows [][]string
	for i, c := range companies {
		m := summarize(all[i].all)
		rows = append(rows, []string{fmt.Sprint(c.workers), fmt.Sprint(c.senders), fmt.Sprint(c.slots), report.Round(m.rate), report.Round(m.least) + " .. " + report.Round(m.most),
			fmt.Sprintf("%.2f", m.redis), fmt.Sprintf("%.0f %%", 100*m.busy), fmt.Sprintf("%.2f", m.client), fmt.Sprintf("%.2f", m.commands)})
	}
	b.Table([]string{"workers", "senders", "slots", "messages/s", "least .. most", "Redis µs", "Redis core", "client µs, all", "commands"}, rows)
	one, four := summarize(all[0].all), summarize(all[2].all)
	b.Text("Four workers in place of one make a message cost Redis %.2f times as much, and the processes %.2f times.", four.redis/one.redis, four.client/one.client)
	return nil
}

// together has some processes send messages and others handle them.
func (b *bench) together(p servers.Place, c company, messages int) (result servers.Sample, err error) {
	if err := p.Empty(); err != nil {
		return result, err
	}
	start := func(role string, n int) (all []*child, err error) {
		for i := range n {
			r := b.request(role, p, c.slots, messages)
			r.Part, r.Parts, r.Callers = i, n, b.callers/n
			c, err := b.startChild(b.self, r)
			if err != nil {
				return all, err
			}
			all = append(all, c)
		}
		return all, nil
	}
	workers, err := start("work", c.workers)
	defer endAll(workers)
	if err != nil {
		return result, err
	}
	senders, err := start("send", c.senders)
	defer endAll(senders)
	if err != nil {
		return result, err
	}
	ready, err := hearAll(senders, workers)
	if err != nil {
		return result, err
	}
	if err := b.shared(p, c, ready[c.senders:], messages); err != nil {
		return result, err
	}
	if err := tellAll(workers, "begin"); err != nil {
		return result, err
	}
	heard := listen(workers)
	result, err = p.Measure(messages, func() error {
		if err := tellAll(senders, "send"); err != nil {
			return err
		}
		return handledBy(heard, c.workers, messages)
	})
	if err != nil {
		return result, err
	}
	parts, err := hearAll(senders)
	if err != nil {
		return result, err
	}
	if err := tellAll(workers, "stop"); err != nil {
		return result, err
	}
	for len(parts) < c.senders+c.workers {
		n := <-heard
		if n.err != nil {
			return result, n.err
		}
		if n.Stopped {
			parts = append(parts, n.answer)
		}
	}
	result.Client, result.Mallocs = 0, 0 // of this process, which only waited
	for _, part := range parts {
		result.Client += part.Client
		result.Mallocs += part.Mallocs
	}
	handled, err := hearAll(workers)
	if err != nil {
		return result, err
	}
	return result, merged(handled, messages)
}

// news is an answer of one of several workers.
type news struct {
	answer
	worker int
	err    error
}

// listen passes on what workers tell, until they have stopped.
func listen(workers []*child) <-chan news {
	heard := make(chan news)
	for i, w := range workers {
		go func() {
			for last := false; !last; {
				a, err := w.hear()
				last = err != nil || a.Stopped
				heard <- news{a, i, err}
			}
		}()
	}
	return heard
}

// handledBy returns when the workers have handled so many messages together.
func handledBy(heard <-chan news, workers, messages int) error {
	each, total := make([]int, workers), 0
	for total < messages {
		select {
		case n := <-heard:
			if n.err != nil {
				return n.err
			}
			total += n.Handled - each[n.worker]
			each[n.worker] = n.Handled
		case <-time.After(20 * time.Second):
			return fmt.Errorf("%d of %d messages do not come; the workers have handled %d", messages-total, messages, each)
		}
	}
	return nil
}

func tellAll(children []*child, word string) error {
	for _, c := range children {
		if err := c.tell(word); err != nil {
			return err
		}
	}
	return nil
}

// hearAll waits for an answer of each.
func hearAll(groups ...[]*child) (answers []answer, err error) {
	for _, children := range groups {
		for _, c := range children {
			a, err := c.hear()
			if err != nil {
				return answers, err
			}
			answers = append(answers, a)
		}
	}
	return answers, nil
}

func endAll(children []*child) {
	for _, c := range children {
		c.end()
	}
}

// merged fails unless every message came to exactly one worker, once.
func merged(handled []answer, messages int) error {
	ids := newIdentities(messages)
	for _, a := range handled {
		ids.merge(a.Seen, a.Again)
	}
	return ids.check()
}

// shared sends to the slots until each is in the hands of the worker that it is
// to belong to.
func (b *bench) shared(p servers.Place, c company, workers []answer, messages int) error {
	var members []string
	for _, w := range workers {
		members = append(members, w.Worker)
	}
	shares, rdb := share.Of(members, c.slots), p.Dial()[0]
	defer rdb.Close()
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		return err
	}
	defer client.Close(ctx)
	topic := rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge, Slots: c.slots}
	for begun := time.Now(); time.Since(begun) < 20*time.Second; time.Sleep(50 * time.Millisecond) {
		others := make([]rmq.Message, 16*c.slots) // numbered above those that count
		for i := range others {
			others[i] = rmq.RangeMerge{Content: content(messages+i, b.payload), Range: time.Millisecond}
		}
		if _, err := client.SendBatch(ctx, topic, others); err != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
		right := 0
		for worker, share := range shares {
			for _, slot := range share {
				if holder, _ := rdb.HGet(ctx, protocol.KeysOf(topic.Name, slot).Meta, "holder").Result(); holder == worker {
					right++
				}
			}
		}
		if right == c.slots {
			return nil
		}
	}
	return errors.New("the slots are not shared out")
}
