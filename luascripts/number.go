package luascripts

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// NumberCmd reads the number of a slot. Read behind a send, it says by which batches the send may be
// handled: those with a larger one.
func NumberCmd(ctx context.Context, topic string, slot int) *redis.StringCmd {
	return redis.NewStringCmd(ctx, "hget", beside("meta", StoreKey(topic, slot)), "batch")
}

// NumberAnswer is what Redis has answered: 0 if the slot had no batch yet, and instead what unknown
// says if there is no answer, or none that RMQ writes.
func NumberAnswer(cmd *redis.StringCmd, unknown int64) int64 {
	text, err := cmd.Result()
	if err == redis.Nil {
		return 0
	}
	number, invalid := strconv.ParseInt(text, 10, 64)
	if err != nil || invalid != nil || number < 0 || number > unknown {
		return unknown
	}
	return number
}
