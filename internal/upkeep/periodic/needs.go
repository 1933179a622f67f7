package periodic

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// Needs are what everybody needs who looks after slots.
type Needs struct {
	Life     *lifetime.Lifetime
	Redis    redis.UniversalClient
	Scripts  *protocol.Scripts
	Schedule *schedule.Schedule
	Log      *zap.Logger
	Away     *away.Watch
}

// ByServer puts together what has its keys at one server. If that is not known, the request will show it.
func ByServer[T any](ctx context.Context, rdb redis.UniversalClient, all []T, key func(T) string) map[string][]T {
	groups := map[string][]T{}
	for _, x := range all {
		_, addr, _ := cluster.MasterFor(ctx, rdb, key(x))
		groups[addr] = append(groups[addr], x)
	}
	return groups
}

// InOneExists is how many slots one command names at the most.
const InOneExists = 32

// Exists asks in a pipeline which of some slots, all of one server, have any of their keys. Nearly always none has, so one command
// asks about some together; but a Cluster allows no keys of several slots in a command. Behind the pipeline some returns those that have, or
// may have: with an error, a slot may be on its way to another server.
func Exists[T any](ctx context.Context, rdb redis.UniversalClient, pipe redis.Pipeliner, slots []T, together int, keys func(T) []string) (some func() []T) {
	if cluster.IsCluster(rdb) {
		together = 1
	}
	groups := slices.Collect(slices.Chunk(slots, together))
	exist := make([]*redis.IntCmd, len(groups))
	for i, group := range groups {
		var all []string
		for _, x := range group {
			all = append(all, keys(x)...)
		}
		exist[i] = pipe.Exists(ctx, all...)
	}
	return func() (some []T) {
		for i, group := range groups {
			if exist[i].Err() != nil || exist[i].Val() > 0 {
				some = append(some, group...)
			}
		}
		return some
	}
}
