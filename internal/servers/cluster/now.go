package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Now is the time of the server, or the latest of those of a Cluster's masters that answer; the error is then of one
// that does not.
func Now(ctx context.Context, rdb redis.UniversalClient) (latest time.Time, err error) {
	var mu sync.Mutex
	err = Ask(ctx, rdb, func(ctx context.Context, server redis.UniversalClient) error {
		now, err := server.Time(ctx).Result()
		mu.Lock()
		defer mu.Unlock()
		if now.After(latest) {
			latest = now
		}
		return err
	})
	return latest, err
}
