package main

import (
	"context"

	"github.com/hibiken/asynq"

	"github.com/slotmq/go-rmq/bench/internal/servers"
)

// asynqWorkers is asynq's Concurrency, and as many callers. Which is best for it differs
// from machine to machine, so in the first table it runs with each of asynqTries.
const asynqWorkers = 50

var asynqTries = []int{50, 200, 800}

// asynqQueue is an asynq client and server on one Redis.
type asynqQueue struct {
	*asynq.Client
	*asynq.Server
	texts   []string
	ids     *identities
	workers int // and callers
}

func (b *bench) newAsynq(p servers.Place, messages, workers int) *asynqQueue {
	opt := asynq.RedisClientOpt{Addr: p.Servers[0].Addr, PoolSize: max(100, workers)}
	return &asynqQueue{
		Client: asynq.NewClient(opt),
		Server: asynq.NewServer(opt, asynq.Config{Concurrency: workers, LogLevel: asynq.FatalLevel}),
		texts:  contents(messages, b.payload), ids: newIdentities(messages), workers: workers,
	}
}

func (q *asynqQueue) enqueue() error {
	return each(len(q.texts), q.workers, func(i int) error {
		_, err := q.Enqueue(asynq.NewTask("bench", []byte(q.texts[i])))
		return err
	})
}

// handle measures until all have come, after send if that is given, and checks them.
func (q *asynqQueue) handle(p servers.Place, send func() error) (servers.Sample, error) {
	result, err := p.Measure(len(q.texts), func() error {
		err := q.process()
		if err == nil && send != nil {
			err = send()
		}
		if err == nil {
			err = q.ids.wait()
		}
		return err
	})
	q.Shutdown()
	if err == nil {
		err = q.ids.check()
	}
	return result, err
}

func (q *asynqQueue) process() error {
	return q.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		q.ids.handled(string(t.Payload()))
		return nil
	}))
}

// bothAsynq enqueues and processes at once.
func (b *bench) bothAsynq(p servers.Place, messages, workers int) (servers.Sample, error) {
	if err := p.Empty(); err != nil {
		return servers.Sample{}, err
	}
	q := b.newAsynq(p, messages, workers)
	defer q.Client.Close()
	return q.handle(p, q.enqueue)
}

// apartAsynq enqueues first and processes then, and returns a sample of each.
func (b *bench) apartAsynq(p servers.Place, messages int) (enqueued, processed servers.Sample, err error) {
	if err := p.Empty(); err != nil {
		return enqueued, processed, err
	}
	q := b.newAsynq(p, messages, asynqWorkers)
	defer q.Client.Close()
	if enqueued, err = p.Measure(messages, q.enqueue); err != nil {
		return enqueued, processed, err
	}
	processed, err = q.handle(p, nil)
	return enqueued, processed, err
}
