package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// One fault after the other on one Cluster, in an order drawn by RMQ_SEED, while
// the traffic goes on. By night it is a hundred.
func TestFaultsInARow(t *testing.T) {
	t.Parallel()
	rounds := night.Times(3, 100)
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
			forgetScripts(l)
		}},
		{"slot migrated", func(key string) {
			m := cluster.Migrate(t, key)
			m.MoveKeys(t, random.IntN(3))
			l.flows(20)
			m.Finish(t)
		}},
	}
	if !night.Is() { // the one fault after which Redis itself, very rarely, does not put a Cluster together again
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
