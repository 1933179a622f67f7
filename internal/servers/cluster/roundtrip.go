package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// farthest bounds how long a round trip may take that is measured.
const farthest = 10 * time.Second

// RoundTrip is how long a question to Redis takes, there and back: the shortest of a few tries. On a Cluster it is
// that of the slowest master, of those that answer soon. It is 0 if none answers.
func RoundTrip(ctx context.Context, rdb redis.UniversalClient) (longest time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, farthest)
	defer cancel()
	if _, many := rdb.(client); !many {
		return shortest(ctx, rdb)
	}
	var mu sync.Mutex
	_ = Each(ctx, rdb, func(ctx context.Context, _ string, server redis.UniversalClient) {
		took := shortest(ctx, server)
		mu.Lock()
		defer mu.Unlock()
		longest = max(longest, took)
	})
	return longest
}

// shortest is how long the quickest of three questions takes; the first one connects, too.
func shortest(ctx context.Context, server redis.UniversalClient) (took time.Duration) {
	for range 3 {
		begun := time.Now()
		if server.Ping(ctx).Err() != nil {
			break
		}
		if d := time.Since(begun); took == 0 || d < took {
			took = d
		}
	}
	return took
}
