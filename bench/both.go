package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/rmq"
)

// bothRMQ sends from many goroutines and handles at once, each message through
// Send and a listener. The messages are due a millisecond after they are sent.
// In a place of several Redis clients, the messages are dealt out to them.
func bothRMQ(p place, slots int, o options) (sample, error) {
	texts, ids := contents(o.messages, o.payload), newIdentities(o.messages)
	topic := rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge, Slots: slots}
	var clients []*rmq.Client
	for _, rdb := range p.dial() {
		defer rdb.Close()
		client, err := listening(rdb, topic, ids)
		if err != nil {
			return sample{}, err
		}
		clients = append(clients, client)
	}
	result, err := p.measure(o.messages, func() error {
		for _, client := range clients {
			if err := client.Start(ctx); err != nil {
				return err
			}
		}
		err := each(o.messages, o.callers, func(i int) error {
			_, err := clients[i%len(clients)].Send(ctx, topic, rmq.RangeMerge{Content: texts[i], Range: time.Millisecond})
			return err
		})
		if err == nil {
			err = ids.wait()
		}
		return err
	})
	for _, client := range clients {
		if err == nil {
			err = client.Close(ctx)
		}
	}
	if err == nil {
		err = ids.check()
	}
	return result, err
}

// listening returns a client whose listener counts.
func listening(rdb redis.UniversalClient, topic rmq.Topic, ids *identities) (*rmq.Client, error) {
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		return nil, err
	}
	return client, client.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		ids.handled(d.Content)
		return nil
	}))
}
