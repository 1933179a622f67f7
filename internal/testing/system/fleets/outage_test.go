package fleets

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/system/workers"
)

// Workers that coast do not mind that ZooKeeper is away, for however long: nothing
// stands still, and when it is back they are still who they were.
func TestZooKeeperAwayForWorkersThatCoast(t *testing.T) {
	t.Parallel()
	zk := servertest.ZooKeeper(t)
	f := newFleet(t, zk, "/rmq", func(j *workers.Job) { j.Coast, j.Session = true, 20*time.Second }) // that is long beside a restart on a busy machine
	ids, owners := f.ids(), f.owners()

	zk.Kill()
	f.Note(proctest.Down, "")
	begun := time.Now()
	f.During("a session is over", func() bool { return time.Since(begun) > f.Job.Session })
	before := maps.Clone(f.By)
	f.During("ZooKeeper stays away, and each works on", func() bool {
		for _, w := range f.workers {
			if f.By[w.Name] < before[w.Name]+20 {
				return false
			}
		}
		return time.Since(begun) > 8*f.Job.Session/5 // after three halves they try a second connection
	})
	f.Note(proctest.Up, "")
	zk.Restart(t)
	f.settle("ZooKeeper was away")
	back := time.Now()
	f.During("a session has passed since", func() bool { return time.Since(back) > f.Job.Session*5/4 })
	if now := f.ids(); !maps.Equal(now, ids) || len(f.moved(owners)) > 0 {
		t.Errorf("the workers were %v and are %v; slots moved: %v", ids, now, f.moved(owners))
	}
	f.Drain()
	f.Untouched(f.Check())
}

// Workers that stop are who they were, too, when ZooKeeper is back after their deadlines: each works at
// once at the slots that it had, and nothing was done twice but what was cancelled.
func TestZooKeeperAwayForWorkersThatStop(t *testing.T) {
	t.Parallel()
	zk := servertest.ZooKeeper(t)
	f := newFleet(t, zk, "/rmq", func(j *workers.Job) { j.Session = 20 * time.Second }) // that is long beside a restart on a busy machine
	ids, owners := f.ids(), f.owners()
	f.occupy(f.workers[0], 1, workers.Hang)

	zk.Kill()
	f.Note(proctest.Down, "")
	running := func() (n int) {
		for _, w := range f.workers {
			n += f.Open(w.Name)
		}
		return n
	}
	begun := time.Now()
	f.During("all handlers have ended", func() bool { return running() == 0 && time.Since(begun) > f.Job.Session*9/10 })
	f.Note(proctest.Up, "")
	zk.Restart(t)
	back := time.Now()
	f.taken(f.workers[0], "", slices.Collect(maps.Keys(owners)))
	t.Logf("all slots were worked at %v after ZooKeeper was back", time.Since(back).Round(time.Millisecond))
	f.settle("ZooKeeper was away")
	if now := f.ids(); !maps.Equal(now, ids) || len(f.moved(owners)) > 0 {
		t.Errorf("the workers were %v and are %v; slots moved: %v", ids, now, f.moved(owners))
	}
	f.Drain()
	f.judge(1)
}
