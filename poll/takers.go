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

// refresh is how often a desk says that there is one, and counts as one for three times as long.
const refresh, counted = 30 * time.Second, 90 * time.Second

// tellOthers notes in Redis that this process takes from the topic, and counts who does. People see
// it there, and limits are divided by it.
func (d *desk) tellOthers(ctx context.Context) error {
	key := protocol.TakersKey(d.qualified)
	now, err := d.cfg.Redis.Time(ctx).Result()
	if err != nil {
		return err
	}
	pipe := d.cfg.Redis.Pipeline()
	pipe.ZRemRangeByScore(ctx, key, "-inf", strconv.FormatInt(now.UnixMilli(), 10))
	pipe.ZAdd(ctx, key, redis.Z{Score: float64(now.Add(counted).UnixMilli()), Member: d.id})
	pipe.PExpire(ctx, key, counted)
	n := pipe.ZCard(ctx, key)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	d.setOthers(int(n.Val()))
	return nil
}

// enlist repeats tellOthers until the desk closes.
func (d *desk) enlist() {
	for wait.Sleep(d.life.Background, refresh) {
		if err := d.tellOthers(d.life.Background); err != nil && d.life.Background.Err() == nil {
			d.log.Log(d.away.Level(protocol.TakersKey(d.qualified), err), "it is not noted that this process takes from a topic", zap.String("topic", d.name), zap.Error(err))
		}
	}
}

// delist takes this process out.
func (d *desk) delist(ctx context.Context) {
	if err := d.cfg.Redis.ZRem(ctx, protocol.TakersKey(d.qualified), d.id).Err(); err != nil {
		d.log.Debug("it is not noted that this process takes from a topic no more", zap.String("topic", d.name), zap.Error(err))
	}
}
