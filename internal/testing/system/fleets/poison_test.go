package fleets

import (
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/system/workers"
)

// What can only fail is dead after 17 deliveries. A handler that heeds nothing keeps
// its slot for twice its Timeout: then the slot goes on, under another id, and no other
// slot notices.
func TestZooKeeperPoisonAndStuckHandler(t *testing.T) {
	t.Parallel()
	zk := servertest.SharedZooKeeper(t)
	f := newFleet(t, zk, zk.Chroot(t), func(j *workers.Job) {
		j.Timeout, j.Session = 4*time.Second, time.Minute
	})
	f.Poisonous = 50
	f.During("there is poison", func() bool { return f.Poisoned >= night.Times(4, 10) })
	f.Poisonous = 0

	w := f.workers[0]
	id := f.ids()[w.Name]
	what := f.occupy(w, 1, workers.Stuck)[0]
	hung := f.AwaitEvent("a handler is stuck", func(e proctest.Event) bool { return e.Kind == proctest.Start && e.Content == what })
	f.taken(w, id, []place{{hung.Topic, hung.Slot}})
	again := f.AwaitEvent("it is handled again", func(e proctest.Event) bool { return e.Kind == proctest.Done && e.Content == what })
	t.Logf("its slot went on %v after the handler began, of which it may take %v", workers.Between(hung, again), 2*f.Job.Timeout)
	f.settle("a handler was stuck")
	f.Drain()
	w.Term()
	f.Await("the stuck handler returns when its worker is to stop", func() bool { return f.left(w) })

	r := f.Check()
	if r.Dead != f.Poisoned {
		t.Errorf("%d contents are dead, want the %d poisonous ones", r.Dead, f.Poisoned)
	}
	for _, o := range r.Frozen {
		if o.Earlier.Content != what {
			t.Errorf("an overlap of another handler than the stuck one: %+v", o)
		}
	}
	if again.Attempt != 2 || again.Fence <= hung.Fence {
		t.Errorf("it came again as attempt %d with fence %d, after attempt 1 with fence %d", again.Attempt, again.Fence, hung.Fence)
	}
	for _, e := range f.Events() {
		alone := e.Topic != hung.Topic || e.Slot != hung.Slot
		if r.Stalls == 0 && e.Kind == proctest.Start && e.Attempt > 1 && alone && !strings.HasSuffix(e.Content, workers.Poison) {
			t.Errorf("another slot paid for it with an attempt: %+v", e)
		}
	}
}
