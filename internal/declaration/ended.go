package declaration

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
)

// endedFor is how long it stays noted that somebody has ended a plan. A program that declared it, and
// was without Redis for less than that, does not take it for lost.
const endedFor = time.Hour

// endings are the plans of a topic that somebody has ended a short time ago.
type endings struct{ *Plans }

func (e endings) key() string { return protocol.EndedKey(e.Topic.Name) }

// note notes that somebody ends a plan.
func (e endings) note(ctx context.Context, name string) error {
	now, err := e.clock(ctx, e.key())
	if err != nil {
		return err
	}
	cmds := []redis.Cmder{
		redis.NewIntCmd(ctx, "zadd", e.key(), now.UnixMilli(), name),
		redis.NewIntCmd(ctx, "zremrangebyscore", e.key(), "-inf", now.Add(-endedFor).UnixMilli()),
		redis.NewBoolCmd(ctx, "pexpire", e.key(), endedFor.Milliseconds()),
	}
	script.Exec(ctx, e.Redis, cmds...)
	for _, cmd := range cmds {
		err = errors.Join(err, cmd.Err())
	}
	return err
}

// has reports whether a plan is one of them.
func (e endings) has(ctx context.Context, name string) (bool, error) {
	err := e.Redis.ZScore(ctx, e.key(), name).Err()
	if err == redis.Nil {
		return false, nil
	}
	return err == nil, read(e.key(), err)
}

// drop removes the note that somebody has ended a plan, since it is set again.
func (e endings) drop(ctx context.Context, name string) error {
	return e.Redis.ZRem(ctx, e.key(), name).Err()
}
