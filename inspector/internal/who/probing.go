package who

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/score"
	"github.com/slotmq/go-rmq/internal/protocol/script"
)

// Probing is which workers only probe at which topics, and since when: topic → worker → time. Those
// that are gone may be among them.
func (w *Who) Probing(ctx context.Context, topics []ask.Topic) (map[string]map[string]time.Time, error) {
	found := map[string]map[string]time.Time{}
	failed := w.Failing()
	for some := range slices.Chunk(topics, ask.PerPipeline) {
		keys, cmds := make([]string, len(some)), make([]*redis.ScanCmd, len(some))
		for n, t := range some {
			keys[n] = protocol.ProbingKey(w.Qualified(t.Name))
		}
		var sent []redis.Cmder
		errs := w.Masters.Silent(ctx, w.Redis, keys)
		for n := range some {
			if errs[n] == nil {
				cmds[n] = pageOf(ctx, keys[n], 0)
				sent = append(sent, cmds[n])
			}
		}
		script.ExecOnce(ctx, w.Redis, sent...)
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
				script.ExecOnce(ctx, w.Redis, cmd)
			}
			if err != nil {
				err = fmt.Errorf("read who probes in %s: %w", keys[n], w.Explain(err))
			}
			if err := failed.Add(ctx, t.Name, -1, keys[n], err); err != nil {
				return nil, err
			}
		}
	}
	return found, failed.Err()
}

// ProbingAt is which workers of one topic only probe, and since when; nil: none. If it is known
// who has its slots, it is only those.
func (w *Who) ProbingAt(ctx context.Context, t ask.Topic, who Shares) (map[string]time.Time, error) {
	found, err := w.Probing(ctx, []ask.Topic{t})
	at := found[t.Name]
	if who.Workers >= 0 {
		maps.DeleteFunc(at, func(worker string, _ time.Time) bool { return !slices.Contains(who.Owners, worker) })
	}
	if len(at) == 0 {
		return nil, err
	}
	return at, err
}

// ProbingIn is the same for the workers that have some slots.
func (w *Who) ProbingIn(ctx context.Context, t ask.Topic, who Shares, which []int) (map[string]time.Time, error) {
	key := protocol.ProbingKey(w.Qualified(t.Name))
	var owners []string
	args := []any{"hmget", key}
	for _, slot := range which {
		if owner := who.Owner(slot); owner != "" && !slices.Contains(owners, owner) {
			owners, args = append(owners, owner), append(args, owner)
		}
	}
	if owners == nil {
		return nil, nil
	}
	failed := w.Failing()
	cmd := redis.NewSliceCmd(ctx, args...)
	script.ExecOnce(ctx, w.Redis, cmd)
	if err := cmd.Err(); err != nil {
		if err := failed.Add(ctx, t.Name, -1, key, fmt.Errorf("read who probes in %s: %w", key, w.Explain(err))); err != nil {
			return nil, err
		}
		return nil, failed.Err()
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
