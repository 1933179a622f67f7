package main

import (
	"context"

	"github.com/hibiken/asynq"

	"github.com/slotmq/go-rmq/bench/internal/servers"
)

// asynqWorkers is the Concurrency that is best for asynq here, of 10, 50 and 200,
// and as many callers.
const asynqWorkers = 50

// asynqQueue is an asynq client and server on one Redis.
type asynqQueue struct {
	*asynq.Client
	*asynq.Server
	texts []string
	ids   *identities
}

func (b *bench) newAsynq(p servers.Place, messages int) *asynqQueue {
	opt := asynq.RedisClientOpt{Addr: p.Servers[0].Addr, PoolSize: 100}
	return &asynqQueue{
		Client: asynq.NewClient(opt),
		Server: asynq.NewServer(opt, asynq.Config{Concurrency: asynqWorkers, LogLevel: asynq.FatalLevel}),
		texts:  contents(messages, b.payload), ids: newIdentities(messages),
	}
}

func (q *asynqQueue) enqueue() error {
	return each(len(q.texts), asynqWorkers, func(i int) error {
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
func (b *bench) bothAsynq(p servers.Place, messages int) (servers.Sample, error) {
	if err := p.Empty(); err != nil {
		return servers.Sample{}, err
	}
	q := b.newAsynq(p, messages)
	defer q.Client.Close()
	return q.handle(p, q.enqueue)
}

// apartAsynq enqueues first and processes then, and returns a sample of each.
func (b *bench) apartAsynq(p servers.Place, messages int) (enqueued, processed servers.Sample, err error) {
	if err := p.Empty(); err != nil {
		return enqueued, processed, err
	}
	q := b.newAsynq(p, messages)
	defer q.Client.Close()
	if enqueued, err = p.Measure(messages, q.enqueue); err != nil {
		return enqueued, processed, err
	}
	processed, err = q.handle(p, nil)
	return enqueued, processed, err
}
