package fleets

import (
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/system/workers"
)

// pauseLimit is how long a slot may stand still when it moves, by night. It is expected to be
// a small part of that; the machine that runs the tests is small, too.
const pauseLimit = 5 * time.Second

// A worker joins, one leaves, and then all are replaced one by one. It costs
// nothing: no attempt, no repetition, no early delivery, and only the slots move
// that must.
func TestZooKeeperJoinLeaveAndDeploy(t *testing.T) {
	t.Parallel()
	zk := servertest.SharedZooKeeper(t)
	f := newFleet(t, zk, zk.Chroot(t), func(j *workers.Job) { j.Session = time.Minute })
	begun := time.Now()

	f.shown()
	before := f.owners()
	f.join(f.add())
	f.movedAtMost("one has joined", before, fleetSize+1)

	before = f.owners()
	f.occupy(f.workers[0], 6, workers.Slow) // who gets these slots must find out that the leaver lives
	f.leave(f.workers[0])
	f.settle("one has left")
	f.movedAtMost("one has left", before, fleetSize+1)

	old := append([]*worker{}, f.workers...)
	deployed := time.Now()
	for range old {
		f.add() // begun before it is needed, as a deployment would
	}
	fresh := f.workers[len(old):]
	for i, w := range old {
		f.During(fresh[i].Name+" is there", f.Seen(fresh[i].Name, proctest.Warm))
		fresh[i].Go()
		f.During(w.Name+" has a successor", f.Seen(fresh[i].Name, proctest.Ready))
		f.leave(w)
	}
	f.settle("all were replaced")
	t.Logf("%d workers were replaced one by one in %v", len(old), time.Since(deployed).Round(time.Millisecond))
	f.shown()

	f.Drain()
	r := f.Check()
	f.Untouched(r)
	f.InTime()
	var stood []time.Duration
	for _, x := range f.takeovers(proctest.Closing) {
		stood = append(stood, x.Stood)
	}
	night.AtMost(t, "the longest stand of a slot whose worker left", slices.Max(append(stood, 0)), pauseLimit)
	if len(stood) < fleetSlots/2 { // nearly all do; some had nothing to do in between
		t.Errorf("only %d slots are known to have moved", len(stood))
	}
	t.Logf("%d workers left within %v; a slot that moved stood still: %s", len(old)+1, time.Since(begun).Round(time.Millisecond), proctest.Spread(stood))
}

// movedAtMost fails the test unless only one worker's share of each topic moved.
func (f *fleet) movedAtMost(what string, before map[place]string, workers int) {
	f.T.Helper()
	moved := f.moved(before)
	for _, topic := range f.Job.Topics {
		if most := (topic.Slots + workers - 1) / workers; moved[topic.Name] > most || moved[topic.Name] == 0 {
			f.T.Errorf("%s: %d slots of %s moved, want at most %d and some", what, moved[topic.Name], topic.Name, most)
		}
	}
	f.T.Logf("%s: slots moved: %v", what, moved)
}

// takeovers are those after a kind of fault.
func (f *fleet) takeovers(kinds ...proctest.Kind) (all []proctest.Takeover) {
	f.T.Helper()
	for _, x := range proctest.Takeovers(f.Events(), func(content string) int64 { return f.Due[content] }) {
		for _, kind := range kinds {
			if x.Fault.Kind == kind {
				all = append(all, x)
			}
		}
	}
	return all
}
