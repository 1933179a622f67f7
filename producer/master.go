package producer

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// clusterClient is the part of redis.ClusterClient that finds a key's master.
type clusterClient interface {
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
}

// masterFor returns the client of the node that holds the key, and its
// address: rdb itself and no address unless it is a Cluster.
func masterFor(ctx context.Context, rdb redis.UniversalClient, key string) (redis.UniversalClient, string, error) {
	cluster, ok := rdb.(clusterClient)
	if !ok {
		return rdb, "", nil
	}
	master, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		return nil, "", fmt.Errorf("find the master of %s: %w: %w", key, errUnsent, err)
	}
	return master, master.Options().Addr, nil
}
