package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/rmq"
)

var ctx = context.Background()

// bothRMQ sends from 256 goroutines and handles at once, each message through
// Send and a listener. The messages are due a millisecond after they are sent.
func bothRMQ(s *server, o options) (sample, error) {
	texts, ids := contents(o.messages, o.payload), newIdentities(o.messages)
	rdb := redis.NewClient(&redis.Options{Addr: s.addr})
	defer rdb.Close()
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		return sample{}, err
	}
	topic := rmq.Topic{Name: "bench", Kind: rmq.KindRangeMerge}
	err = client.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		ids.handled(d.Content)
		return nil
	}))
	if err != nil {
		return sample{}, err
	}
	result, err := s.measure(o.messages, func() error {
		if err := client.Start(ctx); err != nil {
			return err
		}
		err := each(o.messages, 256, func(i int) error {
			_, err := client.Send(ctx, topic, rmq.RangeMerge{Content: texts[i], Range: time.Millisecond})
			return err
		})
		if err == nil {
			err = ids.wait()
		}
		return err
	})
	if err == nil {
		err = client.Close(ctx)
	}
	if err == nil {
		err = ids.check()
	}
	return result, err
}

// bothAsynq enqueues from 50 goroutines and processes with Concurrency 50, its
// best here (10 and 200 are slower).
func bothAsynq(s *server, o options) (sample, error) {
	texts, ids := contents(o.asynq, o.payload), newIdentities(o.asynq)
	opt := asynq.RedisClientOpt{Addr: s.addr, PoolSize: 100}
	client := asynq.NewClient(opt)
	defer client.Close()
	server := asynq.NewServer(opt, asynq.Config{Concurrency: 50, LogLevel: asynq.FatalLevel})
	result, err := s.measure(o.asynq, func() error {
		if err := server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
			ids.handled(string(t.Payload()))
			return nil
		})); err != nil {
			return err
		}
		err := each(o.asynq, 50, func(i int) error {
			_, err := client.Enqueue(asynq.NewTask("bench", []byte(texts[i])))
			return err
		})
		if err == nil {
			err = ids.wait()
		}
		return err
	})
	server.Shutdown()
	if err == nil {
		err = ids.check()
	}
	return result, err
}

// wait returns when every message has come, or fails when none comes any more.
func (ids *identities) wait() error {
	for {
		left := ids.left.Load()
		select {
		case <-ids.done:
			return nil
		case <-time.After(20 * time.Second):
			if ids.left.Load() == left {
				return fmt.Errorf("%d of %d messages do not come", left, len(ids.seen))
			}
		}
	}
}

// ceiling only adds to 16 sorted sets: single ZADDs, 64 in a write, on four
// connections, with rising scores. No queue on sorted sets can be faster than
// that without writing several messages with one command.
func ceiling(s *server, o options) (sample, error) {
	texts := contents(o.messages, o.payload)
	rdb := redis.NewClient(&redis.Options{Addr: s.addr})
	defer rdb.Close()
	keys := make([]string, 16)
	for i := range keys {
		keys[i] = fmt.Sprintf("ceiling_%d", i)
	}
	const write = 64
	writes := o.messages / write
	return s.measure(writes*write, func() error {
		return each(writes, 4, func(w int) error {
			pipe := rdb.Pipeline()
			for i := w * write; i < (w+1)*write; i++ {
				pipe.ZAdd(ctx, keys[i%16], redis.Z{Score: 1e12 + float64(i), Member: texts[i]})
			}
			_, err := pipe.Exec(ctx)
			return err
		})
	})
}
