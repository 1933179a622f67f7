package faults

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// The settings that the figures tell apart.
const (
	waitNone = "no waiting"
	waitOne  = "Replicas: 1"
	safe     = "Replicas: 1, min-replicas 1, AOF"
)

// configure sets something on all nodes that run.
func configure(t *testing.T, c *servertest.RedisCluster, name, value string) {
	t.Helper()
	for _, s := range c.Nodes() {
		must.Do(t, s.Client(t).ConfigSet(context.Background(), name, value).Err())
	}
}

// calm is for a Cluster in which no server is to be replaced by itself, however busy the machine is.
var calm = []string{"--cluster-node-timeout", "60000"}

// Masters of a Cluster whose servers keep nothing on disk die, hang and come back empty, under
// load.
func TestFaultsOfAClusterInMemory(t *testing.T) {
	t.Parallel()
	t.Log("figures: " + figuresHead)
	cluster := servertest.Cluster(t, 3, 1)
	both := func(t *testing.T, fault string) []*traffic {
		on := onRedisCluster(t, cluster)
		return []*traffic{
			newTraffic(t, on, fault, waitNone).begin(),
			newTraffic(t, on, fault, waitOne, replicated(1)).begin(),
		}
	}

	t.Run("master killed", func(t *testing.T) {
		all := both(t, "master killed")
		killMaster(t, cluster, all[0].someKey(), all...)
		all[0].figures().soon()
		all[1].figures().soon().kept()
	})
	t.Run("master hung", func(t *testing.T) {
		all := both(t, "master hung, replaced")
		pauseMaster(t, cluster, all[0].someKey(), time.Duration(night.Times(2, 10))*time.Second, all...)
		all[0].figures()
		all[1].figures().kept()
	})
	t.Run("master restarted empty", func(t *testing.T) {
		configure(t, cluster, "cluster-node-timeout", "60000") // it is back before anybody thinks it dead
		all := both(t, "master killed, back at once and empty")
		master := cluster.MasterOf(t, all[0].someKey())
		for _, l := range all {
			l.harm(master)
		}
		master.Kill()
		master.Restart(t) // its replica forgets everything, too
		cluster.AwaitReady(t)
		for _, l := range all {
			l.flows(60)
		}
		for _, l := range all {
			if f := l.figures(); f.lost == 0 {
				t.Error("nothing is lost; either nothing waited, or the replica took over")
			}
		}
	})
	t.Run("all nodes restarted", func(t *testing.T) {
		l := newTraffic(t, onRedisCluster(t, cluster), "all nodes killed and restarted", "nothing on disk").begin()
		restartAll(t, cluster, l)
		if f := l.figures(); f.lost == 0 {
			t.Error("nothing is lost; nothing waited")
		}
	})
}

// What a Cluster may do without any cost: a failover that is asked for, and scripts that are forgotten.
func TestFaultsThatCostNothing(t *testing.T) {
	t.Parallel()
	t.Log("figures: " + figuresHead)
	cluster := servertest.Cluster(t, 3, 1, calm...)

	t.Run("planned failover", func(t *testing.T) {
		l := newTraffic(t, onRedisCluster(t, cluster), "3 planned failovers", waitNone).begin()
		l.harm()
		for _, s := range l.shards {
			cluster.Failover(t, l.keys(s.spots[0]).Store)
			l.flows(60)
		}
		l.figures().kept().once()
	})
	t.Run("scripts forgotten", func(t *testing.T) {
		literal := func(l *traffic) { l.literal = true } // whose sends need a script, too
		l := newTraffic(t, onRedisCluster(t, cluster), "SCRIPT FLUSH, 15 times", waitNone, literal, patient).begin()
		l.harm()
		for range 15 {
			forgetScripts(l)
			l.flows(10)
		}
		l.flows(60)
		l.wantMet(t, "NOSCRIPT")
		l.figures().kept().once().answered()
	})
}

// forgetScripts has all masters forget the scripts.
func forgetScripts(l *traffic) {
	l.t.Helper()
	must.Do(l.t, l.look.(*redis.ClusterClient).ForEachMaster(context.Background(), func(ctx context.Context, master *redis.Client) error {
		return master.ScriptFlush(ctx).Err()
	}))
}

// The same with the settings that are to lose nothing.
func TestFaultsOfAClusterOnDisk(t *testing.T) {
	t.Parallel()
	t.Log("figures: " + figuresHead)
	cluster := servertest.Cluster(t, 3, 1, "--appendonly", "yes")

	t.Run("master killed", func(t *testing.T) {
		configure(t, cluster, "min-replicas-to-write", "1")
		l := newTraffic(t, onRedisCluster(t, cluster), "master killed", safe, replicated(1)).begin()
		killMaster(t, cluster, l.someKey(), l)
		l.figures().kept()
	})
	t.Run("master hung", func(t *testing.T) {
		configure(t, cluster, "min-replicas-to-write", "1")
		l := newTraffic(t, onRedisCluster(t, cluster), "master hung, replaced", safe, replicated(1)).begin()
		pauseMaster(t, cluster, l.someKey(), 0, l)
		l.figures().kept()
	})
}

// All nodes die at once and come back with what they have on disk. None takes the place of another,
// since that would be another fault.
func TestRestartsOfAClusterOnDisk(t *testing.T) {
	t.Parallel()
	t.Log("figures: " + figuresHead)
	cluster := servertest.Cluster(t, 3, 1, append([]string{"--appendonly", "yes"}, calm...)...)

	t.Run("fsync always", func(t *testing.T) {
		configure(t, cluster, "appendfsync", "always")
		l := newTraffic(t, onRedisCluster(t, cluster), "all nodes killed and restarted", "AOF always").begin()
		restartAll(t, cluster, l)
		l.figures().kept()
	})
	t.Run("fsync everysec", func(t *testing.T) {
		configure(t, cluster, "appendfsync", "everysec")
		l := newTraffic(t, onRedisCluster(t, cluster), "all nodes killed and restarted", "AOF everysec").begin()
		restartAll(t, cluster, l)
		l.figures()
	})
}

// killMaster kills the master of a key under one traffic or several at once, until messages flow again on the one that took its place, restarts it as its
// replica, and waits again.
func killMaster(t *testing.T, cluster *servertest.RedisCluster, key string, all ...*traffic) {
	t.Helper()
	master := cluster.MasterOf(t, key)
	for _, l := range all {
		l.harm(master)
	}
	master.Kill()
	flowWithoutReplica(t, cluster, key, all)
	master.Restart(t)
	cluster.AwaitReady(t)
	for _, l := range all {
		l.flows(60)
	}
}

// pauseMaster is the same with a master that hangs, for so long at least, and
// goes on in the belief that it is the master still.
func pauseMaster(t *testing.T, cluster *servertest.RedisCluster, key string, least time.Duration, all ...*traffic) {
	t.Helper()
	master := cluster.MasterOf(t, key)
	for _, l := range all {
		l.harm(master)
	}
	over := time.NewTimer(least)
	master.Pause()
	flowWithoutReplica(t, cluster, key, all)
	<-over.C
	master.Resume()
	cluster.AwaitReady(t)
	for _, l := range all {
		l.flows(60)
	}
}

// flowWithoutReplica waits for the promotion of a replica, and then for messages
// to flow where no other replica is waited for.
func flowWithoutReplica(t *testing.T, cluster *servertest.RedisCluster, key string, all []*traffic) {
	t.Helper()
	cluster.MasterOf(t, key)
	for _, l := range all {
		if l.sends.Replicas == 0 {
			l.flows(60)
		}
	}
}

// restartAll kills all nodes at once and restarts them, the masters first.
func restartAll(t *testing.T, cluster *servertest.RedisCluster, l *traffic) {
	t.Helper()
	masters := map[string]bool{}
	for _, s := range l.shards {
		masters[s.server] = true
	}
	l.harm()
	var killed sync.WaitGroup
	for _, s := range cluster.Nodes() {
		killed.Go(s.Kill)
	}
	killed.Wait()
	for _, first := range []bool{true, false} {
		for _, s := range cluster.Nodes() {
			if masters[s.Addr()] == first {
				s.Restart(t)
			}
		}
	}
	cluster.AwaitReady(t)
	l.flows(60)
}
