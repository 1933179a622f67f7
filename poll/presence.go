package poll

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// refresh is how often a process says that it takes from a topic, and counts as one for three times as long.
const refresh, counted = 30 * time.Second, 90 * time.Second

// presence notes in Redis that this process takes from a topic, and counts who does. People see it there, and the rate is
// divided by it.
type presence struct{ *topic }

func (p presence) key() string { return protocol.TakersKey(p.qualified) }

func (p presence) tell(ctx context.Context) error {
	rdb := p.process.cfg.Redis
	now, err := rdb.Time(ctx).Result()
	if err != nil {
		return err
	}
	pipe := rdb.Pipeline()
	pipe.ZRemRangeByScore(ctx, p.key(), "-inf", strconv.FormatInt(now.UnixMilli(), 10))
	pipe.ZAdd(ctx, p.key(), redis.Z{Score: float64(now.Add(counted).UnixMilli()), Member: p.process.id})
	pipe.PExpire(ctx, p.key(), counted)
	n := pipe.ZCard(ctx, p.key())
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	p.rate.share(int(n.Val()))
	return nil
}

// run repeats it until the topic closes.
func (p presence) run() {
	for wait.Sleep(p.life.Background, refresh) {
		if err := p.tell(p.life.Background); err != nil && p.life.Background.Err() == nil {
			p.log.Log(p.away.Level(p.key(), err), "it is not noted that this process takes from a topic", zap.Error(err))
		}
	}
}

// end takes this process out.
func (p presence) end(ctx context.Context) {
	if err := p.process.cfg.Redis.ZRem(ctx, p.key(), p.process.id).Err(); err != nil {
		p.log.Debug("it is not noted that this process takes from a topic no more", zap.Error(err))
	}
}
