package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/slots"
)

// ceiling only adds to 16 sorted sets with rising scores: some messages with each
// ZADD, 64 messages or one command in a write, on four connections.
func (b *bench) ceiling(p servers.Place, perCommand int) (servers.Sample, error) {
	if err := p.Empty(); err != nil {
		return servers.Sample{}, err
	}
	texts := contents(b.messages, b.payload)
	rdb := p.Dial()[0]
	defer rdb.Close()
	keys := make([]string, usual)
	for i := range keys {
		keys[i] = fmt.Sprintf("ceiling_%d", i)
	}
	const write = 64
	writes := b.messages / write
	return p.Measure(writes*write, func() error {
		return each(writes, 4, func(w int) error {
			pipe := rdb.Pipeline()
			for i := w * write; i < (w+1)*write; i += perCommand {
				args := make([]any, 2, 2+2*perCommand)
				args[0], args[1] = "zadd", keys[(i/perCommand)%len(keys)]
				for j := i; j < i+perCommand; j++ {
					args = append(args, 1e12+float64(j), &texts[j])
				}
				_ = pipe.Process(ctx, redis.NewIntCmd(ctx, args...))
			}
			_, err := pipe.Exec(ctx)
			return err
		})
	})
}

// naive takes the first message that is due.
var naive = redis.NewScript(`
local x = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)
if x[1] then
  redis.call('ZREM', KEYS[1], x[1])
  redis.call('ZADD', KEYS[2], ARGV[1], x[1])
end
return x[1]`)

// bothNaive sends one message with each call and takes one with each.
func (b *bench) bothNaive(p servers.Place, messages int) (servers.Sample, error) {
	if err := p.Empty(); err != nil {
		return servers.Sample{}, err
	}
	texts, ids := contents(messages, b.payload), newIdentities(messages)
	rdb := p.Dial()[0]
	defer rdb.Close()
	result, err := p.Measure(messages, func() error {
		work, stop := context.WithCancel(ctx)
		defer stop()
		failed := make(chan error, 1)
		go func() {
			failed <- each(asynqWorkers, asynqWorkers, func(int) error {
				for work.Err() == nil {
					text, err := naive.Run(ctx, rdb, []string{"naive", "taken"}, time.Now().UnixMilli()).Text()
					if err == redis.Nil {
						continue
					}
					if err == nil {
						ids.handled(text)
						err = rdb.ZRem(ctx, "taken", text).Err()
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		}()
		err := each(messages, asynqWorkers, func(i int) error {
			return rdb.ZAdd(ctx, "naive", redis.Z{Score: float64(time.Now().UnixMilli()), Member: texts[i]}).Err()
		})
		if err == nil {
			err = ids.wait()
		}
		stop()
		if first := <-failed; err == nil {
			err = first
		}
		return err
	})
	if err == nil {
		err = ids.check()
	}
	return result, err
}

// fill adds messages to a topic by plain ZADDs of 64, numbered from a first one,
// as any program may that does not use the library.
func fill(rdb redis.UniversalClient, topic string, width, from, n, bytes int, score func(i int) float64, step func(done int)) error {
	const perCommand, commands = 64, 32
	pending := make([][]any, width)
	pipe, answer := rdb.Pipeline(), make(chan error, 1)
	answer <- nil
	exec := func() error { // one write while the next is made
		full, err := pipe, <-answer
		pipe = rdb.Pipeline()
		go func() {
			_, err := full.Exec(ctx)
			answer <- err
		}()
		return err
	}
	write := func(slot int) {
		if pending[slot] != nil {
			_ = pipe.Process(ctx, redis.NewIntCmd(ctx, pending[slot]...))
			pending[slot] = nil
		}
	}
	for i := from; i < from+n; i++ {
		text := content(i, bytes)
		slot := slots.Of(text, width)
		if pending[slot] == nil {
			pending[slot] = append(make([]any, 0, 2+2*perCommand), "zadd", protocol.StoreKey(topic, slot))
		}
		if pending[slot] = append(pending[slot], score(i), text); len(pending[slot]) == cap(pending[slot]) {
			write(slot)
		}
		if pipe.Len() == commands {
			if err := exec(); err != nil {
				return err
			}
			if step != nil {
				step(i - from)
			}
		}
	}
	for slot := range pending {
		write(slot)
	}
	if err := exec(); err != nil {
		return err
	}
	return <-answer
}
