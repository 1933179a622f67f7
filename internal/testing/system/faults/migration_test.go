package faults

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// Hash slots move from one master to another while messages go in and out. Half
// of the moves stop in the middle, until messages were accepted in that state:
// sends go on in it, and turns wait for its end. Sends that wait for a replica
// find the server of their slot in another way, so they are tried, too.
func TestFaultSlotsMove(t *testing.T) {
	t.Parallel()
	t.Log("figures: " + figuresHead)
	cluster := servertest.Cluster(t, 3, 1)
	configure(t, cluster, "cluster-node-timeout", "60000") // slots move, and no server is replaced, however busy the machine is
	t.Run(waitNone, func(t *testing.T) { moveSlots(t, cluster, waitNone, 0) })
	t.Run(waitOne, func(t *testing.T) { moveSlots(t, cluster, waitOne, 1) })
}

// moveSlots moves six slots, one after the other. By day three: one of each topic.
func moveSlots(t *testing.T, cluster *servertest.RedisCluster, setting string, replicas int) {
	t.Helper()
	l := newTraffic(t, onRedisCluster(t, cluster), "slots migrated", setting, replicated(replicas), patient).begin()
	var moved []*spot
	for i := range night.Times(3, 6) {
		moved = append(moved, l.spots[(i%3)*16+5*i/3])
	}
	busy := &shard{server: "the moving slots", spots: moved}
	l.send(moved, 1, sendEvery/3)
	l.send(moved, batchSize, batchEvery/3)
	l.flows(60, busy)
	l.harm()
	l.hit = []*shard{busy}
	var still []time.Duration
	for i, s := range moved {
		one := &shard{server: l.keys(s).Store, spots: []*spot{s}}
		begun := time.Now()
		m := cluster.Migrate(t, l.keys(s).Store)
		if i%2 == 0 {
			m.MoveKeys(t, 1)
			before := l.acceptedIn(s)
			l.await("sends to a slot on its way", func() bool { return l.acceptedIn(s) >= before+8 })
			// Which key went first is chance. Once the store has gone, sends meet ASK.
			for i == (len(moved)-1)&^1 && !l.has("ASK") && m.MoveKeys(t, 1) > 0 {
				before := l.acceptedIn(s)
				l.await("sends to a slot on its way", func() bool { return l.acceptedIn(s) >= before+8 })
			}
		}
		m.Finish(t)
		finished := time.Now()
		l.flows(20, one)
		l.mu.Lock()
		still = append(still, rough(longestGap(one.spots, handledAt, begun, time.Now())))
		after := time.Time{}
		for _, at := range s.handled {
			if at.After(finished) {
				after = at
				break
			}
		}
		l.mu.Unlock()
		t.Logf("slot %s: moved in %v, handled again %v later", one.server, rough(finished.Sub(begun)), rough(after.Sub(finished)))
	}
	l.wantMet(t, "ASK")
	l.wantMet(t, "MOVED")
	l.wantMet(t, "TRYAGAIN")
	t.Logf("figures: the moved slots stood still %v", still)
	l.figures().kept().once().answered()
}

func (l *traffic) acceptedIn(s *spot) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(s.accepted)
}
