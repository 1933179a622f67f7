package fleets

import (
	"maps"
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
