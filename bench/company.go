package main

import (
	"time"

	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/rmq"
)

// The two kinds of processes of a company, as children.

// work is a worker's part: it answers with its id when it works, and reports from then
// on how many messages it has handled whenever that has changed, until it is
// asked to stop; then what that cost, and at last which messages they were.
func (j job) work() (a answer, err error) {
	ids, topic := newIdentities(j.Messages), rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge, Slots: j.Slots}
	rdb := j.place.Dial()[0]
	defer rdb.Close()
	client, err := listening(rdb, topic, func(d *rmq.Delivery) { ids.handled(d.Content) })
	if err == nil {
		err = client.Start(ctx)
	}
	if err == nil {
		err = j.parent.Encode(answer{Worker: client.Worker()})
	}
	var word string
	if err == nil {
		err = j.parent.Decode(&word) // to begin
	}
	if err != nil {
		return a, err
	}
	stop := make(chan error, 1)
	go func() { stop <- j.parent.Decode(&word) }()
	a.Sample, err = servers.Place{}.Measure(j.Messages, func() error {
		told := -1
		for {
			if n := ids.once(); n != told {
				if err := j.parent.Encode(answer{Handled: n}); err != nil {
					return err
				}
				told = n
			}
			select {
			case err := <-stop:
				return err
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	if err == nil {
		a.Stopped = true
		err = j.parent.Encode(a)
	}
	if err == nil {
		err = client.Close(ctx)
	}
	a.Seen, a.Again = ids.bits(), ids.again.Load()
	return a, err
}

// send is a sender's part: it answers when it is ready, begins when it is asked to,
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
