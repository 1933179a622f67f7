package rmq_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// One fault after the other on one Cluster, in an order drawn by RMQ_SEED, while
// the traffic goes on. RMQ_SOAK=1 makes it many.
func TestFaultsInARow(t *testing.T) {
	rounds, soak := 3, os.Getenv("RMQ_SOAK") != ""
	if soak {
		rounds = 100
	}
	random := sharetest.Rand(t)

	cluster := servertest.Cluster(t, 3, 1)
	l := newTraffic(t, onRedisCluster(t, cluster), fmt.Sprint(rounds, " faults in a row"), waitOne, replicated(1)).begin()
	faults := []struct {
		name string
		harm func(key string)
	}{
		{"master killed", func(key string) { killMaster(t, cluster, key, l) }},
		{"master hung", func(key string) { pauseMaster(t, cluster, key, 0, l) }},
		{"planned failover", func(key string) { cluster.Failover(t, key) }},
		{"scripts forgotten", func(string) {
			err := l.look.(*redis.ClusterClient).ForEachMaster(context.Background(), func(ctx context.Context, master *redis.Client) error {
				return master.ScriptFlush(ctx).Err()
			})
			if err != nil {
				t.Fatal(err)
			}
		}},
		{"slot migrated", func(key string) {
			m := cluster.Migrate(t, key)
			m.MoveKeys(t, random.IntN(3))
			l.flows(20)
			m.Finish(t)
		}},
	}
	if !soak { // the one fault after which Redis itself, very rarely, does not put a Cluster together again
		faults = faults[:len(faults)-1]
	}
	begun := time.Now()
	for range rounds {
		fault := faults[random.IntN(len(faults))]
		s := l.spots[random.IntN(len(l.spots))]
		t.Logf("%s, of %s", fault.name, l.keys(s).Store)
		fault.harm(l.keys(s).Store)
		l.flows(60)
	}
	l.harmed, l.hit = begun, l.shards // all of it counts
	l.figures().kept()
}
