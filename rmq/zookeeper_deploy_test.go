package rmq_test

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// pauseLimit is how long a slot may stand still when it moves. It is expected to be
// a small part of that; the machine that runs the tests is small, too.
const pauseLimit = 5 * time.Second

// A worker joins, one leaves, and then all are replaced one by one. It costs
// nothing: no attempt, no repetition, no early delivery, and only the slots move
// that must.
func TestZooKeeperJoinLeaveAndDeploy(t *testing.T) {
	f := newFleet(t, servertest.ZooKeeper(t), func(j *job) { j.Session = 10 * time.Second })
	begun := time.Now()

	f.shown()
	before := f.owners()
	f.join(f.add())
	f.movedAtMost("a ninth joined", before, fleetSize+1)

	before = f.owners()
	f.occupy(f.workers[0], 6, slow) // who gets these slots must find out that the leaver lives
	f.leave(f.workers[0])
	f.settle("one has left")
	f.movedAtMost("one of nine left", before, fleetSize+1)

	old := append([]*worker{}, f.workers...)
	deployed := time.Now()
	for range old {
		f.add() // begun before it is needed, as a deployment would
	}
	fresh := f.workers[len(old):]
	for i, w := range old {
		f.during(fresh[i].Name+" is there", f.saw(fresh[i].Name, proctest.Warm))
		fresh[i].Go()
		f.during(w.Name+" has a successor", f.saw(fresh[i].Name, proctest.Ready))
		f.leave(w)
	}
	f.settle("all were replaced")
	t.Logf("%d workers were replaced one by one in %v", len(old), time.Since(deployed).Round(time.Millisecond))
	f.shown()

	f.drain()
	r := f.check()
	f.untouched(r)
	f.intime()
	var stood []time.Duration
	for _, x := range f.takeovers(proctest.Closing) {
		stood = append(stood, x.Stood)
		if x.Stood > pauseLimit {
			t.Errorf("%s/%d stood still for %v when %s left", x.Next.Topic, x.Next.Slot, x.Stood, x.Fault.Worker)
		}
	}
	if len(stood) < of256Slots/2 { // nearly all do; some had nothing to do in between
		t.Errorf("only %d slots are known to have moved", len(stood))
	}
	t.Logf("%d workers left within %v; a slot that moved stood still: %s", len(old)+1, time.Since(begun).Round(time.Millisecond), proctest.Spread(stood))
}

// movedAtMost fails the test unless only one worker's share of each topic moved.
func (f *fleet) movedAtMost(what string, before map[place]string, workers int) {
	f.t.Helper()
	moved := f.moved(before)
	for _, topic := range f.job.Topics {
		if most := (topic.Slots + workers - 1) / workers; moved[topic.Name] > most || moved[topic.Name] == 0 {
			f.t.Errorf("%s: %d slots of %s moved, want at most %d and some", what, moved[topic.Name], topic.Name, most)
		}
	}
	f.t.Logf("%s: slots moved: %v", what, moved)
}

// takeovers are those after a kind of fault.
func (f *fleet) takeovers(kinds ...proctest.Kind) (all []proctest.Takeover) {
	f.t.Helper()
	for _, x := range proctest.Takeovers(f.Events(), func(content string) int64 { return f.due[content] }) {
		for _, kind := range kinds {
			if x.Fault.Kind == kind {
				all = append(all, x)
			}
		}
	}
	return all
}
