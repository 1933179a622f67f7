package faults

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// A master hangs and nothing takes its place. Its slots stand still, and those
// of the other masters go on meanwhile: it is resumed only after messages were
// sent and handled there. Then it does all that it was asked while it hung, and
// whose answers nobody waits for any more.
func TestFaultHungMasterHoldsUpNobody(t *testing.T) {
	t.Parallel()
	t.Log("figures: " + figuresHead)
	cluster := servertest.Cluster(t, 3, 0)
	configure(t, cluster, "cluster-node-timeout", "60000") // nobody calls it dead
	on := onRedisCluster(t, cluster)
	on.client = func() redis.UniversalClient {
		return cluster.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout = time.Second })
	}
	l := newTraffic(t, on, "master hung, not replaced", waitNone).begin()
	master := cluster.MasterOf(t, l.someKey())
	l.harm(master)
	master.Pause()
	l.flows(200, l.others()...)
	l.await("sends of which nobody knows", func() bool { return l.told(uncertain, "") > 0 })
	master.Resume()
	l.flows(60)
	l.figures().kept()
}
