package wakeups

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Only where there is one server, and no other to go to, a silent subscription is left alone
// for long.
func TestSilenceOf(t *testing.T) {
	t.Parallel()
	const addr = "localhost:1" // nothing is asked of it
	single := redis.NewClient(&redis.Options{Addr: addr})
	failover := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{addr}})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}})
	for _, x := range []struct {
		rdb  redis.UniversalClient
		want time.Duration
	}{{single, longSilence}, {failover, silence}, {cluster, silence}} {
		if got := SilenceOf(x.rdb); got != x.want {
			t.Errorf("%T: a sign of life is asked for after %v, want %v", x.rdb, got, x.want)
		}
		if err := x.rdb.Close(); err != nil {
			t.Error(err)
		}
	}
}
