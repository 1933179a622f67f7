// Package cluster finds the server of a Redis Cluster that holds a key. Every other
// client has one server, whose address does not matter.
//
// It does not route commands: the Redis client does.
//
// # Asked again while it is slow
//
// A server that hangs breaks no connection, so we would learn only after the time-out that another one has taken its
// place. cluster.WhileSlow asks for the masters every half second that a request takes. It does not use ReloadState.
// That asks one server at a time, at random: one time in six it is the one that hangs, and then nothing is known for
// seconds.
package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// client is the part of redis.ClusterClient that is needed here.
type client interface {
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	ForEachMaster(ctx context.Context, do func(ctx context.Context, master *redis.Client) error) error
	ForEachShard(ctx context.Context, do func(ctx context.Context, server *redis.Client) error) error
	ReloadState(ctx context.Context)
}

// IsCluster reports whether rdb is a client of a Cluster.
func IsCluster(rdb redis.UniversalClient) bool {
	_, many := rdb.(client)
	return many
}

// IsSingle reports whether rdb is a client of one server that no other replaces:
// neither a Cluster nor Sentinel, which gives this address to its clients.
func IsSingle(rdb redis.UniversalClient) bool {
	one, ok := rdb.(*redis.Client)
	return ok && one.Options().Addr != "FailoverClient"
}

// ReadTimeout is how long a client waits for an answer. 0 or less: for ever, or the client is of another
// kind.
func ReadTimeout(rdb redis.UniversalClient) time.Duration {
	switch c := rdb.(type) {
	case *redis.Client:
		return c.Options().ReadTimeout
	case *redis.ClusterClient:
		return c.Options().ReadTimeout
	}
	return 0
}

// MasterFor returns the client of the server that holds the key, and its
// address: rdb itself and no address unless it is a Cluster.
func MasterFor(ctx context.Context, rdb redis.UniversalClient, key string) (redis.UniversalClient, string, error) {
	c, many := rdb.(client)
	if !many {
		return rdb, "", nil
	}
	master, err := c.MasterForKey(ctx, key)
	if err != nil {
		return nil, "", fmt.Errorf("find the master of %s: %w", key, err)
	}
	return master, master.Options().Addr, nil
}

// Reload makes the client of a Cluster ask again, in the background, where the slots
// are.
func Reload(ctx context.Context, rdb redis.UniversalClient) {
	if c, many := rdb.(client); many {
		c.ReloadState(ctx) // no more often than five times a second
	}
}

// NoteError looks at a command's error; if the key may have moved to another server, it
// reloads the cluster map in the background and returns true. By itself the client would
// go on with a dead server for a minute.
func NoteError(ctx context.Context, rdb redis.UniversalClient, err error) bool {
	c, many := rdb.(client)
	if !many || err == nil {
		return false
	}
	if f, reply := faultOf(err); reply && !f.moved {
		return false
	}
	c.ReloadState(ctx) // no more often than five times a second
	return true
}
