package fleet

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// A worker that was killed stays in the lists of members for a while. Its share of the slots waits until then, and so
// does what it had in hand. Someone who has just started another worker sees that nothing happens, and wonders why. So
// each new worker looks once which of the workers that it found have not refreshed their entries since: all that live
// do so three times in a lease.

// presence is how a worker counts in the lists of members of some topics.
type presence struct {
	until  int64 // ms, by Redis: the latest of them
	topics []string
}

// run logs which workers have vanished. There is nothing else to do: the term lasts as long as the worker. It ends
// when Close begins: a Redis client may ignore the context, and a server that hangs would hold up Close.
func (f *byRedis) run() { _ = wait.For(f.Life.Background, f.nameVanished) }

func (f *byRedis) nameVanished(ctx context.Context) error {
	found := others(ctx, f.parts)
	if len(found) == 0 || !wait.Sleep(ctx, f.Lease/2+time.Second) {
		return nil
	}
	gone := vanished(found, others(ctx, f.parts))
	now, err := f.Redis.Time(ctx).Result()
	for id, p := range gone {
		if err == nil && time.UnixMilli(p.until).Sub(now) <= f.Lease { // else it has a longer lease, and shows itself less often
			f.Log.Warn("a worker shows itself no more, and its slots wait", zap.String("worker", id), zap.String("topic", p.topics[0]),
				zap.Int("topics", len(p.topics)), zap.Time("until", time.UnixMilli(p.until)))
		}
	}
	return err
}

// vanished are those whose entries have not changed.
func vanished(before, after map[string]presence) map[string]presence {
	same := map[string]presence{}
	for id, p := range after {
		if p.until == before[id].until {
			same[id] = p
		}
	}
	return same
}

// others are the other workers in the lists of members. A server that does not answer
// counts as one without any.
func others(ctx context.Context, f *parts) map[string]presence {
	all := map[string]presence{}
	for _, some := range byServer(ctx, f.Redis, f.Topics, protocol.WorkersKey) {
		pipe := f.Redis.Pipeline()
		lists := make([]*redis.ZSliceCmd, len(some))
		for i, t := range some {
			lists[i] = pipe.ZRangeWithScores(ctx, protocol.WorkersKey(t.Qualified), 0, -1)
		}
		_, _ = pipe.Exec(ctx) // each has an error of its own
		for i, t := range some {
			for _, z := range lists[i].Val() {
				if id, _ := z.Member.(string); id != f.ID {
					p := all[id]
					all[id] = presence{max(p.until, int64(z.Score)), append(p.topics, t.Name)}
				}
			}
		}
	}
	return all
}
