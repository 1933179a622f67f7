package inspector

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/score"
	"github.com/slotmq/go-rmq/internal/script"
	"github.com/slotmq/go-rmq/luascripts"
)

// probing notes of each worker at which topics it only probes, and since when. What workers that are
// gone have left there is passed over.
func (i *Inspector) probing(ctx context.Context, topics []Topic, known map[string]*Worker) error {
	failed := failures{i: i}
	for some := range slices.Chunk(topics, perPipeline) {
		keys, cmds := make([]string, len(some)), make([]*redis.ScanCmd, len(some))
		for n, t := range some {
			keys[n] = luascripts.ProbingKey(i.qualified(t.Name))
		}
		var sent []redis.Cmder
		errs := i.masters.silent(ctx, i.rdb, keys)
		for n := range some {
			if errs[n] == nil {
				cmds[n] = pageOf(ctx, keys[n], 0)
				sent = append(sent, cmds[n])
			}
		}
		script.ExecOnce(ctx, i.rdb, sent...)
		for n, t := range some {
			err := errs[n]
			for cmd := cmds[n]; err == nil; {
				page, cursor, answer := cmd.Result()
				if err = answer; err != nil {
					break
				}
				for at := 0; at+1 < len(page); at += 2 {
					known[page[at]].probes(t.Name, page[at+1])
				}
				if cursor == 0 {
					break
				}
				cmd = pageOf(ctx, keys[n], cursor)
				script.ExecOnce(ctx, i.rdb, cmd)
			}
			if err != nil {
				err = fmt.Errorf("read who probes in %s: %w", keys[n], i.explain(err))
			}
			if err := failed.add(ctx, t.Name, -1, keys[n], err); err != nil {
				return err
			}
		}
	}
	return failed.err()
}

func pageOf(ctx context.Context, key string, cursor uint64) *redis.ScanCmd {
	return redis.NewScanCmd(ctx, nil, "hscan", key, cursor, "count", 500)
}

// probes notes that a worker probes at a topic since a time, in ms.
func (w *Worker) probes(topic, since string) {
	if w == nil { // it is gone
		return
	}
	if w.Probing == nil {
		w.Probing = map[string]time.Time{}
	}
	w.Probing[topic] = time.UnixMilli(score.Parse(since))
}
