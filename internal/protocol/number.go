package protocol

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// NumberCmd reads the number of a slot. Read behind a send, it says by which batches the send may be
// handled: those with a larger one.
func NumberCmd(ctx context.Context, topic string, slot int) *redis.StringCmd {
	return redis.NewStringCmd(ctx, "hget", beside("meta", StoreKey(topic, slot)), "batch")
}

// NumberAnswer is what Redis has answered. If the slot had no batch, or none that Redis still knows, it is
// what the clock says that was read behind: the next number is past that, and what Redis has
// forgotten was not. It is unknown without that clock, if there is no answer, or none that RMQ writes.
func NumberAnswer(cmd *redis.StringCmd, clock *redis.TimeCmd, unknown int64) int64 {
	text, err := cmd.Result()
	if err == redis.Nil && clock != nil && clock.Err() == nil {
		return clock.Val().UnixMicro() - 1
	}
	number, invalid := strconv.ParseInt(text, 10, 64)
	if err != nil || invalid != nil || number < 0 || number > unknown {
		return unknown
	}
	return number
}

// NumberOf is NumberAnswer for a command that was sent without a clock behind it. It asks for the time if it
// needs it.
func NumberOf(ctx context.Context, rdb redis.UniversalClient, topic string, slot int, cmd *redis.StringCmd, unknown int64) int64 {
	var clock *redis.TimeCmd
	if cmd.Err() == redis.Nil {
		if server, _, err := cluster.MasterFor(ctx, rdb, StoreKey(topic, slot)); err == nil {
			clock = server.Time(ctx)
		}
	}
	return NumberAnswer(cmd, clock, unknown)
}
