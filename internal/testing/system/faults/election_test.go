package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// A busy master hangs, and goes on when its successor is elected, or each second time at some moment of that election:
// before it, while it takes place, or after it. Nothing is lost that it answered then. What it answered just before it hung
// may be, where no replica was waited for: it may not have told its replica yet. By night it hangs 20 times.
func TestHangsThatEndDuringAnElection(t *testing.T) {
	t.Parallel()
	const floor = "min-replicas 1, max-lag 1 s"
	for _, x := range []struct {
		setting  string
		replicas int
	}{{waitNone, 0}, {waitOne, 1}, {floor, 0}} {
		if x.setting == floor && !night.Is() {
			continue // it is for the figures
		}
		t.Run(x.setting, func(t *testing.T) {
			t.Parallel()
			rounds, elected, random := night.Times(1, 20), 0, sharetest.Rand(t)
			c := servertest.Cluster(t, 3, 1, "--cluster-node-timeout", "2000")
			if x.setting == floor {
				configure(t, c, "min-replicas-max-lag", "1")
				configure(t, c, "min-replicas-to-write", "1")
			}
			l := newTraffic(t, onRedisCluster(t, c), fmt.Sprint(rounds, " hangs that end during an election"), x.setting, replicated(x.replicas)).begin()
			for range night.Times(1, 8) {
				for _, s := range l.shards {
					l.send(s.spots, batchSize, 2*time.Millisecond)
				}
			}
			var hangs []hang
			for round := range rounds {
				key := l.keys(l.spots[random.IntN(len(l.spots))]).Store
				master := c.MasterOf(t, key)
				l.harm(master)
				master.Pause()
				h := hang{from: time.Now()}
				if round%2 == 1 {
					c.MasterOf(t, key) // which waits for one that answers
				} else {
					await.True(t, "another one calls it failed", func() bool { return calledFailed(t, c, master) })
					await.Pass(time.Duration(random.IntN(1200)) * time.Millisecond)
				}
				h.to = time.Now()
				master.Resume()
				hangs = append(hangs, h)
				c.AwaitReady(t)
				l.flows(200)
				if c.MasterOf(t, key) != master {
					elected++
				}
			}
			t.Logf("%d were replaced", elected)
			l.harmed, l.hit = hangs[0].from, l.shards // all of it counts
			f := l.figures()
			if x.setting == waitOne {
				f.kept()
			}
			for id, m := range l.letters {
				if m.fate == accepted && m.handled == 0 && !slices.ContainsFunc(hangs, func(h hang) bool { return h.just(m) }) {
					near := hangs[0]
					for _, h := range hangs {
						if h.from.Before(m.answered) {
							near = h
						}
					}
					t.Errorf("%s was not answered just before a hang, and is lost: begun %v and answered %v after the begin of one of %v", id, m.begun.Sub(near.from), m.answered.Sub(near.from), near.to.Sub(near.from))
				}
			}
			if night.Is() && elected == 0 {
				t.Error("nobody was elected")
			}
		})
	}
}

// hang is one of a master.
type hang struct{ from, to time.Time }

// just reports whether a message was sent before the hang, and has its answer from then.
func (h hang) just(m *letter) bool {
	return m.begun.Before(h.from) && m.answered.After(h.from.Add(-time.Second)) && m.answered.Before(h.to)
}

// calledFailed reports whether another node calls a node failed.
func calledFailed(t *testing.T, c *servertest.RedisCluster, node *servertest.Server) bool {
	for _, other := range c.Nodes() {
		if other == node {
			continue
		}
		for line := range strings.Lines(other.Client(t).ClusterNodes(context.Background()).Val()) {
			if f := strings.Fields(line); len(f) > 2 && strings.HasPrefix(f[1], node.Addr()+"@") && slices.Contains(strings.Split(f[2], ","), "fail") {
				return true
			}
		}
	}
	return false
}
