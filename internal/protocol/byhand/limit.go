package byhand

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var limitScript = script.New(luascripts.Source("byhand/limit.lua"))

// Limit limits the workers of a topic for p.Left, or with the zero Policy ends the limit that
// holds. It returns whether one held before.
func Limit(ctx context.Context, rdb redis.UniversalClient, topic string, p protocol.Policy) (before bool, err error) {
	rate, concurrency := "", ""
	if p.Rate > 0 {
		rate = strconv.FormatFloat(p.Rate, 'g', -1, 64)
	}
	if p.Concurrency > 0 {
		concurrency = strconv.Itoa(p.Concurrency)
	}
	key := protocol.PolicyKey(topic)
	cmd := redis.NewIntSliceCmd(ctx, append(limitScript.Call(1, 4), key, rate, concurrency, p.Left.Milliseconds())...)
	script.Exec(ctx, rdb, cmd)
	r, err := cmd.Val(), script.Err(cmd)
	if err != nil {
		return false, fmt.Errorf("limit topic %s in %s: %w", topic, key, err)
	}
	return r[0] == 1, nil
}
