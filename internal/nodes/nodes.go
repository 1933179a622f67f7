// Package nodes tells which server of a Redis Cluster holds a key. For every
// other client there is one server, and its address does not matter.
//
// It does not route commands: the Redis client does.
package nodes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// cluster is the part of redis.ClusterClient that is needed here.
type cluster interface {
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	ForEachMaster(ctx context.Context, do func(ctx context.Context, master *redis.Client) error) error
	ForEachShard(ctx context.Context, do func(ctx context.Context, server *redis.Client) error) error
	ReloadState(ctx context.Context)
}

// Many reports whether rdb is a client of a Cluster.
func Many(rdb redis.UniversalClient) bool {
	_, many := rdb.(cluster)
	return many
}

// Alone reports whether rdb is a client of one server whose place no other takes:
// not of a Cluster, nor of Sentinel, which gives this address to its clients.
func Alone(rdb redis.UniversalClient) bool {
	one, ok := rdb.(*redis.Client)
	return ok && one.Options().Addr != "FailoverClient"
}

// MasterFor returns the client of the server that holds the key, and its
// address: rdb itself and no address unless it is a Cluster.
func MasterFor(ctx context.Context, rdb redis.UniversalClient, key string) (redis.UniversalClient, string, error) {
	c, many := rdb.(cluster)
	if !many {
		return rdb, "", nil
	}
	master, err := c.MasterForKey(ctx, key)
	if err != nil {
		return nil, "", fmt.Errorf("find the master of %s: %w", key, err)
	}
	return master, master.Options().Addr, nil
}

// Elsewhere reports whether a server has answered that another one has the key.
func Elsewhere(err error) bool {
	_, moved := redis.IsMovedError(err)
	_, asked := redis.IsAskError(err)
	return moved || asked
}

// Failed is told of a command's error, and reports whether it may mean that
// another server holds the key by now. Then the Cluster's servers are asked
// anew, soon and in the background: by itself the client would go on with a dead
// one for a minute.
func Failed(ctx context.Context, rdb redis.UniversalClient, err error) bool {
	c, many := rdb.(cluster)
	if !many || err == nil {
		return false
	}
	var reply redis.Error
	if errors.As(err, &reply) {
		moved := Elsewhere(err)
		for _, prefix := range []string{"READONLY ", "CLUSTERDOWN ", "MASTERDOWN "} {
			moved = moved || strings.HasPrefix(reply.Error(), prefix)
		}
		if !moved {
			return false
		}
	}
	c.ReloadState(ctx) // no more often than five times a second
	return true
}
