package protocol

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var rightsScript = script.New(luascripts.Source("rights.lua"))

// rightsAtOnce is how many calls one script checks, which takes Redis about a millisecond.
const rightsAtOnce = 1000

// Rights reports for each call, a command with its arguments, whether the Redis user may
// make it, without making it. A key must stand where the command expects it. The answer is
// nil where Redis does not know: before 7.0, and in memory.
func (s *Scripts) Rights(ctx context.Context, calls [][]string) ([]bool, error) {
	var cmds []redis.Cmder
	for some := range slices.Chunk(calls, rightsAtOnce) {
		args := rightsScript.Call(0, 4*len(some))
		for _, words := range some {
			args = append(args, len(words))
			for _, word := range words {
				args = append(args, word)
			}
		}
		cmds = append(cmds, redis.NewIntSliceCmd(ctx, args...))
	}
	s.Exec(ctx, cmds...)
	may := make([]bool, 0, len(calls))
	for _, cmd := range cmds {
		reply, err := cmd.(*redis.IntSliceCmd).Result()
		if err != nil {
			return nil, fmt.Errorf("ask what the user may do: %w", err)
		}
		for _, yes := range reply {
			may = append(may, yes == 1)
		}
	}
	if len(may) < len(calls) {
		return nil, nil
	}
	return may, nil
}
