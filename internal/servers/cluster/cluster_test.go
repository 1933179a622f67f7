package cluster

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestAlone(t *testing.T) {
	t.Parallel()
	for want, clients := range map[bool][]redis.UniversalClient{
		true: {redis.NewClient(&redis.Options{})},
		false: {
			redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"}}),
			redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}}),
		},
	} {
		for _, c := range clients {
			if IsSingle(c) != want {
				t.Errorf("%T: %v", c, IsSingle(c))
			}
			_ = c.Close()
		}
	}
}
