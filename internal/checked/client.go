package checked

import "github.com/redis/go-redis/v9"

// NoClient reports whether there is no Redis client: nil, or a pointer of go-redis that is.
func NoClient(rdb redis.UniversalClient) bool {
	one, isOne := rdb.(*redis.Client)
	many, isMany := rdb.(*redis.ClusterClient)
	return rdb == nil || isOne && one == nil || isMany && many == nil
}

// Client checks the Redis client in a field.
func Client(field string, rdb redis.UniversalClient) error {
	if NoClient(rdb) {
		return Invalid(field, "nil", "a client of go-redis, such as redis.NewClient returns")
	}
	if _, ring := rdb.(*redis.Ring); ring {
		return Invalid(field, "a redis.Ring", "a client of one server, of Sentinels or of a Cluster: a ring moves keys when a server is away")
	}
	return nil
}
