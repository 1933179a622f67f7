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
	result, err := p.Measure(messages, func() error {
		err := q.process()
		if err == nil {
			err = q.enqueue()
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
	processed, err = p.Measure(messages, func() error {
		err := q.process()
		if err == nil {
			err = q.ids.wait()
		}
		return err
	})
	q.Shutdown()
	if err == nil {
		err = q.ids.check()
	}
	return enqueued, processed, err
}
