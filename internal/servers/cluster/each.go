package cluster

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Each visits the server behind rdb, or all masters of a Cluster at the same time. It also
// visits those that do not answer: visit must find that out, and soon. It returns an error
// only if the masters are not known.
func Each(ctx context.Context, rdb redis.UniversalClient, visit func(ctx context.Context, addr string, server redis.UniversalClient)) error {
	soon := func(ctx context.Context, one *redis.Client) error {
		ctx, cancel := context.WithTimeout(ctx, 2*Patience)
		defer cancel()
		visit(ctx, one.Options().Addr, one.WithTimeout(2*Patience))
		return nil
	}
	if c, many := rdb.(client); many {
		return c.ForEachMaster(ctx, soon)
	}
	if one, ok := rdb.(*redis.Client); ok {
		return soon(ctx, one)
	}
	visit(ctx, "", rdb)
	return nil
}
