package main

import (
	"time"

	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/slots"
)

// The two kinds of processes of a company, as children.

// work is a worker's part: it answers with its id when it works, is told which slots
// it has, answers at once, and when it has handled all that belongs there, and at
// last with what it handled.
func (j job) work() (a answer, err error) {
	ids, topic := newIdentities(j.Messages), rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge, Slots: j.Slots}
	expected := make([]int, j.Slots)
	for i := range j.Messages {
		expected[slots.Of(content(i, j.Payload), j.Slots)]++
	}
	rdb := j.place.Dial()[0]
	defer rdb.Close()
	client, err := listening(rdb, topic, func(d *rmq.Delivery) { ids.handled(d.Content) })
	if err == nil {
		err = client.Start(ctx)
	}
	if err == nil {
		err = j.parent.Encode(answer{Worker: client.Worker()})
	}
	var share []int
	if err == nil {
		err = j.parent.Decode(&share)
	}
	if err != nil {
		return a, err
	}
	mine := 0
	for _, slot := range share {
		mine += expected[slot]
	}
	ids.left.Add(int64(mine - j.Messages))
	a.Sample, err = servers.Place{}.Measure(mine, func() error {
		if err := j.parent.Encode(answer{}); err != nil {
			return err
		}
		return ids.wait()
	})
	if err == nil {
		err = j.parent.Encode(a)
	}
	if err == nil {
		err = client.Close(ctx)
	}
	a.Seen, a.Again = ids.bits(), ids.again.Load()
	return a, err
}

// send is a sender's part: it answers when it is ready, begins when it is told to,
// and answers when everything is sent.
func (j job) send() (a answer, err error) {
	topic := rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge, Slots: j.Slots}
	var texts []string
	for i := j.Part; i < j.Messages; i += j.Parts {
		texts = append(texts, content(i, j.Payload))
	}
	rdb := j.place.Dial()[0]
	defer rdb.Close()
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err == nil {
		err = j.parent.Encode(a)
	}
	var begin string
	if err == nil {
		err = j.parent.Decode(&begin)
	}
	if err != nil {
		return a, err
	}
	a.Sample, err = servers.Place{}.Measure(len(texts), func() error {
		return each(len(texts), j.Callers, func(i int) error {
			_, err := client.Send(ctx, topic, rmq.RangeMerge{Content: texts[i], Range: time.Millisecond})
			return err
		})
	})
	if err == nil {
		err = client.Close(ctx)
	}
	return a, err
}
