package faults

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// A busy master hangs, and goes on at any moment of the election of its successor: before it, while it takes place, or
// after it. Nothing is lost that was accepted, with or without a replica that has confirmed it. By night it hangs 20 times.
func TestHangsThatEndDuringAnElection(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		setting string
		adjust  func(*traffic)
	}{{waitNone, func(*traffic) {}}, {waitOne, replicated(1)}} {
		t.Run(x.setting, func(t *testing.T) {
			t.Parallel()
			rounds, elected, random := night.Times(1, 20), 0, sharetest.Rand(t)
			c := servertest.Cluster(t, 3, 1, "--cluster-node-timeout", "2000")
			l := newTraffic(t, onRedisCluster(t, c), fmt.Sprint(rounds, " hangs that end during an election"), x.setting, x.adjust).begin()
			for range night.Times(1, 8) {
				for _, s := range l.shards {
					l.send(s.spots, batchSize, 2*time.Millisecond)
				}
			}
			begun := time.Now()
			for range rounds {
				key := l.keys(l.spots[random.IntN(len(l.spots))]).Store
				master := c.MasterOf(t, key)
				l.harm(master)
				master.Pause()
				await.True(t, "the others call it failed, or have replaced it", func() bool {
					return cluster.StandingOf(context.Background(), l.look, master.Addr(), key) != cluster.Master
				})
				await.Pass(time.Duration(300+random.IntN(1200)) * time.Millisecond)
				master.Resume()
				c.AwaitReady(t)
				l.flows(200)
				if c.MasterOf(t, key) != master {
					elected++
				}
			}
			t.Logf("%d were replaced", elected)
			l.harmed, l.hit = begun, l.shards // all of it counts
			l.figures().kept()
		})
	}
}
