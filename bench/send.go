package main

import (
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/rmq"
)

var sendSection = section{
	name: "send", title: "Sending alone", quick: true,
	about: `Nothing is handled. Send has 256 callers who each wait for their receipts; SendBatch sends 512 messages with each call, from two
		goroutines; asynq's Enqueue has 50 callers. The two kinds of ZADD are those of the table both.`,
	run: (*bench).send,
}

func (b *bench) send() error {
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	one := &contestant{name: "Send", title: "RMQ: Send", run: func() (servers.Sample, error) { return b.sendRMQ(p, 1) }}
	batch := &contestant{name: "SendBatch", title: "RMQ: SendBatch of 512", run: func() (servers.Sample, error) { return b.sendRMQ(p, 512) }}
	theirs := &contestant{name: "Enqueue", title: "asynq: Enqueue", run: func() (servers.Sample, error) {
		enqueued, _, err := b.apartAsynq(p, b.messages/20)
		return enqueued, err
	}}
	bare := &contestant{name: "ZADD", title: "ZADD, 64 in a write", run: func() (servers.Sample, error) { return b.ceiling(p, 1) }}
	packed := &contestant{name: "ZADD of 64", title: "ZADD of 64 messages", run: func() (servers.Sample, error) { return b.ceiling(p, 64) }}
	all := []*contestant{one, batch, theirs, bare, packed}
	if b.quick {
		all = []*contestant{one, bare}
	}
	if err := b.interleave(all, b.rounds); err != nil {
		return err
	}
	b.compare(all)
	s, z := summarize(one.all), summarize(bare.all)
	b.Result("send_vs_zadd", "%.2f", s.rate/z.rate)
	if !b.quick {
		b.Text("Send reaches %.1f times asynq's Enqueue and %.0f %% of single ZADDs in a pipeline; SendBatch %.0f %% of ZADDs of 64.",
			s.rate/summarize(theirs.all).rate, 100*s.rate/z.rate, 100*summarize(batch.all).rate/summarize(packed.all).rate)
	}
	return nil
}

// sendRMQ sends messages that are due in a day, one or some with each call.
func (b *bench) sendRMQ(p servers.Place, perCall int) (servers.Sample, error) {
	if err := p.Empty(); err != nil {
		return servers.Sample{}, err
	}
	topic := rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge, Slots: usual}
	result, err := b.sendAll(p, topic, dueLater(0, b.messages, b.payload), perCall)
	if err == nil {
		err = holds(p, topic, b.messages)
	}
	return result, err
}

// dueLater makes messages that are due when the run is long over.
func dueLater(from, n, bytes int) []rmq.Message {
	messages := make([]rmq.Message, n)
	for i := range messages {
		messages[i] = rmq.RangeMerge{Content: content(from+i, bytes), Range: 24 * time.Hour}
	}
	return messages
}

// sendAll sends by a new client, one or some with each call.
func (b *bench) sendAll(p servers.Place, topic rmq.Topic, messages []rmq.Message, perCall int) (servers.Sample, error) {
	rdb := p.Dial()[0]
	defer rdb.Close()
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		return servers.Sample{}, err
	}
	result, err := p.Measure(len(messages), func() error {
		if perCall == 1 {
			return each(len(messages), b.callers, func(i int) error {
				_, err := client.Send(ctx, topic, messages[i])
				return err
			})
		}
		return each((len(messages)+perCall-1)/perCall, 2, func(i int) error {
			_, err := client.SendBatch(ctx, topic, messages[i*perCall:min((i+1)*perCall, len(messages))])
			return err
		})
	})
	if err == nil {
		err = client.Close(ctx)
	}
	return result, err
}

// holds fails unless so many messages wait.
func holds(p servers.Place, topic rmq.Topic, messages int) error {
	waiting := 0
	for slot := range topic.Slots {
		n, err := p.Servers[0].Rdb.ZCard(ctx, protocol.StoreKey(topic.Name, slot)).Result()
		if err != nil {
			return err
		}
		waiting += int(n)
	}
	if waiting != messages {
		return fmt.Errorf("%d messages wait and should be %d", waiting, messages)
	}
	return nil
}
