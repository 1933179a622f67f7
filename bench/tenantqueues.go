package main

import (
	"context"
	"slices"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/rmq"
)

// tenantQueue is a queue that tenants share, with its workers.
type tenantQueue interface {
	start() error
	send(tenant, content string) error
	flood(tenant string, contents []string) error // as fast as it takes them
	stop() error                                  // returns when no handler runs
	left() (int, error)                           // how many it still holds then
}

// tenantHandlers is how many handlers each queue has.
const tenantHandlers = 64

// tenantRMQ is RMQ with all tenants in one topic.
type tenantRMQ struct {
	*rmq.Client
	rdb    redis.UniversalClient
	topic  rmq.Topic
	spread bool // over all slots: the tenant is not the slot basis
}

func newTenantRMQ(p servers.Place, kind rmq.Kind, slots int, spread bool, handle func(string)) (tenantQueue, error) {
	q := &tenantRMQ{rdb: p.Dial()[0], topic: rmq.Topic{Name: "bench", Kind: kind, Slots: slots}, spread: spread}
	var err error
	q.Client, err = listening(q.rdb, q.topic, func(d *rmq.Delivery) { handle(d.Content) },
		func(cfg *rmq.Config) error { cfg.Concurrency = tenantHandlers; return nil })
	return q, err
}

// message is due at once. On a topic of priorities, a row of an import has a lower one.
func (q *tenantRMQ) message(tenant, content string, row bool) rmq.Message {
	basis := tenant
	if q.spread {
		basis = ""
	}
	if q.topic.Kind == rmq.KindFixedTime {
		return rmq.FixedTime{Content: content, SlotBasis: basis, At: time.Now()}
	}
	priority := int64(1000)
	if row {
		priority = 100
	}
	return rmq.Priority{Content: content, SlotBasis: basis, Priority: priority}
}

func (q *tenantRMQ) start() error { return q.Start(ctx) }

func (q *tenantRMQ) send(tenant, content string) error {
	_, err := q.Send(ctx, q.topic, q.message(tenant, content, false))
	return err
}

func (q *tenantRMQ) flood(tenant string, contents []string) error {
	for some := range slices.Chunk(contents, 512) {
		messages := make([]rmq.Message, len(some))
		for i, content := range some {
			messages[i] = q.message(tenant, content, true)
		}
		if _, err := q.SendBatch(ctx, q.topic, messages); err != nil {
			return err
		}
	}
	return nil
}

func (q *tenantRMQ) stop() error { return q.Close(ctx) }

func (q *tenantRMQ) left() (int, error) {
	defer q.rdb.Close()
	look, err := inspector.New(q.rdb, inspector.Config{})
	if err != nil {
		return 0, err
	}
	stats, err := look.Stats(ctx, q.topic.Name)
	return int(stats.Waiting + stats.Retrying + stats.InFlight + stats.Dead), err
}

// tenantAsynq is asynq with queues of some weights.
type tenantAsynq struct {
	*asynq.Client
	*asynq.Server
	opt    asynq.RedisClientOpt
	queue  func(tenant string, row bool) string
	handle func(string)
}

func newTenantAsynq(p servers.Place, queues map[string]int, queue func(tenant string, row bool) string, handle func(string)) (tenantQueue, error) {
	opt := asynq.RedisClientOpt{Addr: p.Servers[0].Addr, PoolSize: 2 * tenantHandlers}
	return &tenantAsynq{
		Client: asynq.NewClient(opt),
		Server: asynq.NewServer(opt, asynq.Config{
			Concurrency: tenantHandlers, Queues: queues, TaskCheckInterval: 10 * time.Millisecond, LogLevel: asynq.FatalLevel,
		}),
		opt: opt, queue: queue, handle: handle,
	}, nil
}

func (q *tenantAsynq) start() error {
	return q.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		q.handle(string(t.Payload()))
		return nil
	}))
}

func (q *tenantAsynq) enqueue(tenant, content string, row bool) error {
	_, err := q.Enqueue(asynq.NewTask("bench", []byte(content)), asynq.Queue(q.queue(tenant, row)))
	return err
}

func (q *tenantAsynq) send(tenant, content string) error { return q.enqueue(tenant, content, false) }

func (q *tenantAsynq) flood(tenant string, contents []string) error {
	return each(len(contents), asynqWorkers, func(i int) error { return q.enqueue(tenant, contents[i], true) })
}

func (q *tenantAsynq) stop() error {
	q.Shutdown()
	return q.Client.Close()
}

func (q *tenantAsynq) left() (n int, err error) {
	look := asynq.NewInspector(q.opt)
	defer look.Close()
	known, err := look.Queues()
	if err != nil {
		return 0, err
	}
	for _, name := range known {
		info, err := look.GetQueueInfo(name)
		if err != nil {
			return 0, err
		}
		n += info.Size
	}
	return n, nil
}

// tenantList is a list in Redis, with handlers that each wait for the next message. What
// a handler has in hand is lost when its process dies.
type tenantList struct {
	rdb    *redis.Client
	handle func(string)
	ended  chan error
}

const (
	tenantListKey = "list"
	noMore        = "no more" // ends a handler
)

func newTenantList(p servers.Place, handle func(string)) (tenantQueue, error) {
	rdb := redis.NewClient(&redis.Options{Addr: p.Servers[0].Addr, PoolSize: 2 * tenantHandlers})
	return &tenantList{rdb: rdb, handle: handle, ended: make(chan error, 1)}, nil
}

func (q *tenantList) start() error {
	go func() {
		q.ended <- each(tenantHandlers, tenantHandlers, func(int) error {
			for {
				popped, err := q.rdb.BRPop(ctx, 0, tenantListKey).Result()
				if err != nil || popped[1] == noMore {
					return err
				}
				q.handle(popped[1])
			}
		})
	}()
	return nil
}

func (q *tenantList) send(_, content string) error {
	return q.rdb.LPush(ctx, tenantListKey, content).Err()
}

func (q *tenantList) flood(_ string, contents []string) error {
	for some := range slices.Chunk(contents, 512) {
		if err := q.rdb.LPush(ctx, tenantListKey, some).Err(); err != nil {
			return err
		}
	}
	return nil
}

func (q *tenantList) stop() error {
	if err := q.rdb.RPush(ctx, tenantListKey, slices.Repeat([]any{noMore}, tenantHandlers)...).Err(); err != nil {
		return err
	}
	return <-q.ended
}

func (q *tenantList) left() (int, error) {
	defer q.rdb.Close()
	n, err := q.rdb.LLen(ctx, tenantListKey).Result()
	return int(n), err
}
