package rmq

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// checkServers refuses servers on which messages would get lost or scripts
// would fail. Each refusal says what to change.
func checkServers(ctx context.Context, rdb redis.UniversalClient) error {
	cluster, ok := rdb.(interface {
		ForEachMaster(ctx context.Context, do func(ctx context.Context, master *redis.Client) error) error
	})
	if ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			return checkServer(ctx, master)
		})
	}
	return checkServer(ctx, rdb)
}

func checkServer(ctx context.Context, rdb redis.Cmdable) error {
	if err := rdb.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("Redis does not answer: %w", err)
	}
	info, err := rdb.Info(ctx).Result()
	switch {
	case redis.HasErrorPrefix(err, "NOPERM"):
		return fmt.Errorf("check the Redis server: grant the user +info: %w", err)
	case err != nil && !redis.HasErrorPrefix(err, "ERR"): // an in-memory Redis may not know INFO
		return fmt.Errorf("check the Redis server: %w", err)
	}
	return checkInfo(info)
}

// checkInfo reads the answer of INFO. What is not told is not checked.
func checkInfo(info string) error {
	told := map[string]string{}
	for line := range strings.Lines(info) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			told[key] = value
		}
	}
	if version := told["redis_version"]; version != "" && !atLeast(version, 6, 2) {
		return fmt.Errorf("Redis is of version %s; RMQ needs 6.2 or newer", version)
	}
	if policy := told["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		return fmt.Errorf("Redis evicts keys when its memory is full (maxmemory-policy %s), which would delete waiting messages; "+
			"set maxmemory-policy noeviction", policy)
	}
	if told["role"] == "slave" {
		return errors.New("Redis is a read-only replica; connect to its master, or use a Sentinel or Cluster client")
	}
	return nil
}

func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return true // a version of its own kind
	}
	a, err1 := strconv.Atoi(parts[0])
	b, err2 := strconv.Atoi(parts[1])
	return err1 != nil || err2 != nil || a > major || a == major && b >= minor
}
