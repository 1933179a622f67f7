package cluster

import (
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// A peer is made like a client that connects for the first time, which writes to its own options then: the race
// detector notices who reads these at the same time. The peer has the times of the other one.
func TestPeersOfAClientThatConnects(t *testing.T) {
	t.Parallel()
	addr := servertest.Redis(t).Addr()
	for range 50 {
		var peers Peers
		like := redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: 7 * time.Second, WriteTimeout: 8 * time.Second})
		var all sync.WaitGroup
		all.Go(func() { like.Ping(t.Context()) })
		all.Go(func() {
			for range 20 {
				peers.At("127.0.0.1:1", like)
			}
			peer := peers.At(addr, like)
			if o := peer.(*redis.Client).Options(); o.ReadTimeout != 7*time.Second || o.WriteTimeout != 8*time.Second || o.Addr != addr {
				t.Errorf("a peer of %s waits for %v and %v", o.Addr, o.ReadTimeout, o.WriteTimeout)
			}
		})
		all.Wait()
		peers.Close()
		like.Close()
	}
}
