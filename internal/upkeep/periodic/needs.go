package periodic

import (
	"context"

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
