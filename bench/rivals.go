package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// againstRivals measures RMQ, asynq and bare ZADDs on one Redis.
func againstRivals(f *fleet, o options) error {
	p, err := f.apart(1)
	if err != nil {
		return err
	}
	fmt.Printf("Redis %s on %s, %s, %d processors shared by server and clients\n",
		p.version(), p.servers[0].addr, runtime.Version(), runtime.NumCPU())
	fmt.Printf("%d bytes a message; %d rounds of: send and handle at once\n\n", o.payload, o.rounds)
	ours := &contestant{name: "RMQ", title: "RMQ: send and handle", run: func() (sample, error) { return bothRMQ(p, 16, o) }}
	theirs := &contestant{name: "asynq", title: "asynq: enqueue and process", run: func() (sample, error) { return bothAsynq(p, o) }}
	bare := &contestant{name: "ZADD", title: "pipelined ZADD alone (ceiling)", run: func() (sample, error) { return ceiling(p, o) }}
	all := []*contestant{ours, theirs, bare}
	if err := interleave(all, o.rounds); err != nil {
		return err
	}
	table(all)
	r, a, z := summarize(ours.all), summarize(theirs.all), summarize(bare.all)
	fmt.Printf("\nEvery message was handled exactly once in every round.\n")
	fmt.Printf("RESULT both_vs_asynq=%.1f both_vs_zadd=%.2f redis_us=%.2f client_us=%.2f redis_vs_asynq=1/%.1f client_vs_asynq=1/%.1f\n",
		r.rate/a.rate, r.rate/z.rate, r.redis, r.client, a.redis/r.redis, a.client/r.client)
	return nil
}

// bothAsynq enqueues from 50 goroutines and processes with Concurrency 50, its
// best here (10 and 200 are slower).
func bothAsynq(p place, o options) (sample, error) {
	texts, ids := contents(o.asynq, o.payload), newIdentities(o.asynq)
	opt := asynq.RedisClientOpt{Addr: p.servers[0].addr, PoolSize: 100}
	client := asynq.NewClient(opt)
	defer client.Close()
	server := asynq.NewServer(opt, asynq.Config{Concurrency: 50, LogLevel: asynq.FatalLevel})
	result, err := p.measure(o.asynq, func() error {
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

// ceiling only adds to 16 sorted sets: single ZADDs, 64 in a write, on four
// connections, with rising scores. No queue on sorted sets can be faster than
// that without writing several messages with one command.
func ceiling(p place, o options) (sample, error) {
	texts := contents(o.messages, o.payload)
	rdb := p.dial()[0]
	defer rdb.Close()
	keys := make([]string, 16)
	for i := range keys {
		keys[i] = fmt.Sprintf("ceiling_%d", i)
	}
	const write = 64
	writes := o.messages / write
	return p.measure(writes*write, func() error {
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
