package rmq

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/redisinfo"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/servers/silence"
)

// checkServers refuses servers on which messages would get lost or scripts
// would fail. Each refusal says what to change. Of a Cluster, a master that
// cannot be reached is no reason to refuse while another one can.
func checkServers(ctx context.Context, rdb redis.UniversalClient) error {
	return rights.Explain(cluster.Ask(ctx, rdb, checkServer), rights.User(rdb))
}

func checkServer(ctx context.Context, rdb redis.UniversalClient) error {
	var reply redis.Error
	if err := rdb.Ping(ctx).Err(); errors.As(err, &reply) {
		return fmt.Errorf("ping the Redis server: %w", err)
	} else if err != nil {
		return &silence.Error{Server: silence.Server(rdb), Err: err}
	}
	info, err := redisinfo.Ask(ctx, rdb)
	if err != nil {
		return err
	}
	return checkInfo(info)
}

// checkInfo judges the answer of INFO. A field that is not there is not checked.
func checkInfo(info redisinfo.Info) error {
	if !info.AtLeast(6, 2) {
		return fmt.Errorf("Redis is of version %s; RMQ needs 7.0 or newer, or 6.2, on which it was not run", info["redis_version"])
	}
	if policy := info["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		return fmt.Errorf("Redis evicts keys when its memory is full (maxmemory-policy %s), which would delete waiting messages; "+
			"set maxmemory-policy noeviction", policy)
	}
	if info["role"] == "slave" {
		return errors.New("Redis is a read-only replica; connect to its master, or use a Sentinel or Cluster client")
	}
	return nil
}
