package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Now is the time of the server. Of a Cluster's masters it is the latest time of those that answer, and the error is
// that of one that does not.
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
