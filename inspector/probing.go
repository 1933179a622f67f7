package inspector

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/score"
	"github.com/slotmq/go-rmq/internal/protocol/script"
)

// probing is which workers only probe at which topics, and since when: topic → worker → time. Those
// that are gone may be among them.
func (i *Inspector) probing(ctx context.Context, topics []Topic) (map[string]map[string]time.Time, error) {
	found := map[string]map[string]time.Time{}
	failed := failures{i: i}
	for some := range slices.Chunk(topics, perPipeline) {
		keys, cmds := make([]string, len(some)), make([]*redis.ScanCmd, len(some))
		for n, t := range some {
			keys[n] = protocol.ProbingKey(i.qualified(t.Name))
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
					if found[t.Name] == nil {
						found[t.Name] = map[string]time.Time{}
					}
					found[t.Name][page[at]] = time.UnixMilli(score.Parse(page[at+1]))
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
				return nil, err
			}
		}
	}
	return found, failed.err()
}

// probingAt is which workers of one topic only probe, and since when; nil: none. If it is known
// who has its slots, it is only those.
func (i *Inspector) probingAt(ctx context.Context, t Topic, who shares) (map[string]time.Time, error) {
	found, err := i.probing(ctx, []Topic{t})
	at := found[t.Name]
	if who.workers >= 0 {
		maps.DeleteFunc(at, func(worker string, _ time.Time) bool { return !slices.Contains(who.owners, worker) })
	}
	if len(at) == 0 {
		return nil, err
	}
	return at, err
}

// probingIn is the same for the workers that have some slots.
func (i *Inspector) probingIn(ctx context.Context, t Topic, who shares, which []int) (map[string]time.Time, error) {
	key := protocol.ProbingKey(i.qualified(t.Name))
	var owners []string
	args := []any{"hmget", key}
	for _, slot := range which {
		if owner := who.owner(slot); owner != "" && !slices.Contains(owners, owner) {
			owners, args = append(owners, owner), append(args, owner)
		}
	}
	if owners == nil {
		return nil, nil
	}
	failed := failures{i: i}
	cmd := redis.NewSliceCmd(ctx, args...)
	script.ExecOnce(ctx, i.rdb, cmd)
	if err := cmd.Err(); err != nil {
		if err := failed.add(ctx, t.Name, -1, key, fmt.Errorf("read who probes in %s: %w", key, i.explain(err))); err != nil {
			return nil, err
		}
		return nil, failed.err()
	}
	at := map[string]time.Time{}
	for n, since := range cmd.Val() {
		if text, is := since.(string); is {
			at[owners[n]] = time.UnixMilli(score.Parse(text))
		}
	}
	return at, nil
}

func pageOf(ctx context.Context, key string, cursor uint64) *redis.ScanCmd {
	return redis.NewScanCmd(ctx, nil, "hscan", key, cursor, "count", 500)
}

// probes notes that a worker probes at a topic since a time.
func (w *Worker) probes(topic string, since time.Time) {
	if w == nil { // it is gone
		return
	}
	if w.Probing == nil {
		w.Probing = map[string]time.Time{}
	}
	w.Probing[topic] = since
}

// onlyProbe says in words which workers only probe, and since when.
func onlyProbe(probing map[string]time.Time) string {
	first := ""
	for worker, since := range probing {
		if first == "" || since.Before(probing[first]) || since.Equal(probing[first]) && worker < first {
			first = worker
		}
	}
	if n := len(probing); n > 1 {
		return fmt.Sprintf("%d workers only probe, the first, %s, since %s", n, first, probing[first].Format(time.DateTime))
	}
	return fmt.Sprintf("its worker %s only probes since %s", first, probing[first].Format(time.DateTime))
}
