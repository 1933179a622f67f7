package rmq_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// What can only fail is dead after 17 deliveries. A handler that heeds nothing keeps
// its slot for MaxHandlerTime: then the slot goes on, under another id, and no other
// slot notices.
func TestZooKeeperPoisonAndStuckHandler(t *testing.T) {
	f := newFleet(t, servertest.ZooKeeper(t), func(j *job) {
		j.Timeout, j.MaxHandlerTime = 2*time.Second, 4*time.Second
	})
	f.poisonous = 100
	f.during("there is poison", func() bool { return f.poisoned >= 10 })
	f.poisonous = 0

	w := f.workers[0]
	id := f.ids()[w.Name]
	what := f.occupy(w, 1, stuck)[0]
	hung := f.AwaitEvent("a handler is stuck", func(e proctest.Event) bool { return e.Kind == proctest.Start && e.Content == what })
	f.taken(w, id, []place{{hung.Topic, hung.Slot}})
	again := f.AwaitEvent("it is handled again", func(e proctest.Event) bool { return e.Kind == proctest.Done && e.Content == what })
	t.Logf("its slot went on %v after the handler began, of which it may take %v", between(hung, again), f.job.MaxHandlerTime)
	f.settle("a handler was stuck")
	f.drain()
	w.Term()
	f.Await("the stuck handler returns when its worker is to stop", func() bool { return f.left(w) })

	r := f.check()
	if r.Dead != f.poisoned {
		t.Errorf("%d contents are dead, want the %d poisonous ones", r.Dead, f.poisoned)
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
		if e.Kind == proctest.Start && e.Attempt > 1 && alone && !strings.HasSuffix(e.Content, poison) {
			t.Errorf("another slot paid for it with an attempt: %+v", e)
		}
	}
}
