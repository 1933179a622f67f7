package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/rmq"
)

// workQueue is a queue with its workers.
type workQueue interface {
	start() error
	send(w *worked, i int) error
	pile(w *worked, n int) error // the first n, which may be begun when all are there: that is the begin
	stop() error                 // returns when no handler runs
	left() (int, error)          // how many it still holds then
}

// workers is how a queue is served.
type workers struct {
	n, places int           // places of each
	slots     int           // of RMQ; 0: it is asynq
	payload   int           // bytes of a message
	backoff   time.Duration // of messages that fail
}

const (
	workTimeout = 2 * time.Minute // of a handler
	workLooks   = 10 * time.Millisecond
)

// open makes a queue whose handlers report to what noted holds.
func (w workers) open(p servers.Place, noted *atomic.Pointer[worked]) (workQueue, error) {
	if w.slots == 0 {
		return w.openAsynq(p, noted), nil
	}
	return w.openRMQ(p, noted)
}

// workRMQ has a client for each worker, and one that sends.
type workRMQ struct {
	workers
	topic  rmq.Topic
	sender *rmq.Client
	all    []*rmq.Client
	rdbs   []redis.UniversalClient
}

func (w workers) openRMQ(p servers.Place, noted *atomic.Pointer[worked]) (_ workQueue, err error) {
	q := &workRMQ{workers: w, topic: rmq.Topic{Name: "bench", Kind: rmq.KindFixedTime, Slots: w.slots}}
	if q.sender, err = q.client(p); err != nil {
		return nil, err
	}
	for n := range w.n {
		client, err := q.client(p)
		if err != nil {
			return nil, err
		}
		q.all = append(q.all, client)
		err = client.Listen(q.topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
			return noted.Load().handle(n, d.Content)
		}), rmq.ListenOptions{})
		if err != nil {
			return nil, err
		}
	}
	return q, nil
}

func (q *workRMQ) client(p servers.Place) (*rmq.Client, error) {
	rdb := p.Dial()[0]
	q.rdbs = append(q.rdbs, rdb)
	cfg := rmq.Config{Redis: rdb, Concurrency: q.places, Timeout: workTimeout, Slog: slog.New(slog.DiscardHandler)}
	if q.backoff > 0 {
		cfg.Backoff = rmq.Schedule(q.backoff)
	}
	return rmq.New(cfg)
}

func (q *workRMQ) start() error {
	for _, client := range q.all {
		if err := client.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// message is due in the millisecond in which it is to be sent.
func (q *workRMQ) message(w *worked, i int) rmq.Message {
	return rmq.FixedTime{Content: w.content(i, q.payload), SlotBasis: w.basis(i), At: w.begin.Add(w.pieces[i].at).Truncate(time.Millisecond)}
}

func (q *workRMQ) send(w *worked, i int) error {
	_, err := q.sender.Send(ctx, q.topic, q.message(w, i))
	return err
}

func (q *workRMQ) pile(w *worked, n int) error {
	messages := make([]rmq.Message, n)
	for i := range messages {
		messages[i] = q.message(w, i)
	}
	for some := range slices.Chunk(messages, 512) {
		if _, err := q.sender.SendBatch(ctx, q.topic, some); err != nil {
			return err
		}
	}
	return nil
}

func (q *workRMQ) stop() (err error) {
	for _, client := range append(q.all, q.sender) {
		err = errors.Join(err, client.Close(ctx))
	}
	return err
}

func (q *workRMQ) left() (int, error) {
	defer func() {
		for _, rdb := range q.rdbs {
			rdb.Close()
		}
	}()
	look, err := inspector.New(q.rdbs[0], inspector.Config{})
	if err != nil {
		return 0, err
	}
	stats, err := look.Stats(ctx, q.topic.Name)
	return int(stats.Waiting + stats.Retrying + stats.InFlight + stats.Dead), err
}

// workAsynq has a server for each worker, and one client.
type workAsynq struct {
	workers
	*asynq.Client
	all  []*asynq.Server
	look *asynq.Inspector
	mux  func(worker int) asynq.Handler
}

func (w workers) openAsynq(p servers.Place, noted *atomic.Pointer[worked]) workQueue {
	// A send waits for a connection as long as it has to: it is late, and not lost.
	opt := asynq.RedisClientOpt{Addr: p.Servers[0].Addr, PoolSize: 2 * w.n * w.places, ReadTimeout: workTimeout}
	q := &workAsynq{workers: w, Client: asynq.NewClient(opt), look: asynq.NewInspector(opt)}
	cfg := asynq.Config{Concurrency: w.places, TaskCheckInterval: workLooks, ShutdownTimeout: workTimeout, LogLevel: asynq.FatalLevel}
	if w.backoff > 0 {
		cfg.DelayedTaskCheckInterval = workLooks
		cfg.RetryDelayFunc = func(int, error, *asynq.Task) time.Duration { return w.backoff }
	}
	for range w.n {
		q.all = append(q.all, asynq.NewServer(opt, cfg))
	}
	q.mux = func(worker int) asynq.Handler {
		return asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error { return noted.Load().handle(worker, string(t.Payload())) })
	}
	return q
}

func (q *workAsynq) start() error {
	for n, server := range q.all {
		if err := server.Start(q.mux(n)); err != nil {
			return err
		}
	}
	return nil
}

func (q *workAsynq) send(w *worked, i int) error {
	_, err := q.Enqueue(asynq.NewTask("bench", []byte(w.content(i, q.payload))), asynq.Timeout(workTimeout))
	return err
}

// pile holds the queue up while it sends, since a task is a call of its own.
func (q *workAsynq) pile(w *worked, n int) error {
	if err := q.look.PauseQueue("default"); err != nil {
		return err
	}
	if err := each(n, asynqWorkers, func(i int) error { return q.send(w, i) }); err != nil {
		return err
	}
	w.begin = time.Now()
	return q.look.UnpauseQueue("default")
}

func (q *workAsynq) stop() error {
	for _, server := range q.all {
		server.Shutdown()
	}
	return q.Client.Close()
}

func (q *workAsynq) left() (int, error) {
	defer q.look.Close()
	info, err := q.look.GetQueueInfo("default")
	if err != nil {
		return 0, err
	}
	return info.Size, nil
}
