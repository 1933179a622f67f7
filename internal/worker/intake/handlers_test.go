package intake

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/worker/flow"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// While something else allows a topic fewer handlers than its flow does, what comes out shows only
// that, and nothing is learned. A push-back counts all the same: the rest that it asks for has begun.
func TestNothingIsLearnedWhereOthersAllowLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, by := range []schedule.Limiter{schedule.ByBreaker, schedule.ByPushback, schedule.ByPolicy} {
			x := &schedule.Topic{Name: "t", Slots: 1, Most: 64, NewSlot: func(int) *schedule.Slot { return &schedule.Slot{} }}
			schedule.New(64, []*schedule.Topic{x}, time.Now, func(*schedule.Slot, time.Time) {})
			h := NewHandlers(HandlersConfig{Least: 1, Most: 64, Topic: x, Slots: x.Slots})
			end := func(b Batch) (handlers int) {
				b.Lasted, b.Busy, b.Overload = 10*time.Millisecond, 10*time.Millisecond, 4
				for range 4 {
					await.Pass(10 * time.Millisecond)
					h.Learn(b)
				}
				x.Allow(by, 64)
				return x.Allowed()
			}
			timedOut, pushed := Batch{}, Batch{Pushed: true}
			for _, few := range []int{0, 5, 63} {
				x.Allow(by, few)
				if got := end(timedOut); got != 64 {
					t.Errorf("limiter %d, which allows %d: time-outs leave %d handlers", by, few, got)
				}
			}
			x.Allow(by, 0)
			if got := end(pushed); got != 44 {
				t.Errorf("limiter %d: a push-back leaves %d handlers", by, got)
			}
			await.Pass(time.Minute)
			if got := end(timedOut); got != 30 {
				t.Errorf("without limiter %d: time-outs leave %d handlers", by, got)
			}
		}
	})
}

// demanding is a topic whose slots always wait for places.
type demanding struct{ slots, allowed int }

func (d *demanding) Demand() schedule.Demand {
	return schedule.Demand{Permits: d.allowed, Waiting: true, Slots: d.slots}
}

func (d *demanding) Allow(_ schedule.Limiter, places int) { d.allowed = places }

// When workers come or go a trial under way shows nothing any more: all handlers are back at once. Who has all slots is
// alone, and tells nobody what it tries.
func TestTrialEndsWhenWorkersComeOrGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 64
		x, told := &demanding{slots: most, allowed: most}, 0
		h := NewHandlers(HandlersConfig{Worker: "a", Least: 1, Most: most, Topic: x, Slots: most, Lead: func(flow.Word) { told++ }})
		batch := Batch{Lasted: 10 * time.Millisecond, Busy: 10 * time.Millisecond, Good: 16}
		for _, slots := range []int{most, most / 2, most} {
			x.slots = slots
			if h.Learn(batch); x.allowed != most {
				t.Fatalf("%d slots are left, and %d handlers", slots, x.allowed)
			}
			told = 0
			for passed := 0; x.allowed == most; passed++ {
				if passed == 1000 {
					t.Fatalf("with %d slots nothing is tried in 10 s", slots)
				}
				await.Pass(10 * time.Millisecond)
				for range most {
					h.Learn(batch)
				}
			}
			if alone := slots == most; alone != (told == 0) {
				t.Errorf("with %d slots of %d it has told others %d times what it tries", slots, most, told)
			}
		}
	})
}

// Where there is nothing to find out, nothing is allowed, whatever is heard or learned.
func TestNothingToFindOut(t *testing.T) {
	t.Parallel()
	x := &demanding{allowed: 8}
	h := NewHandlers(HandlersConfig{Least: 8, Most: 8, Topic: x})
	h.Follow(flow.Word{From: "another", Stay: 3, Places: 3, Of: 3, Max: 8})
	if h.Learn(Batch{Overload: 100, Pushed: true}); x.allowed != 8 {
		t.Errorf("%d handlers", x.allowed)
	}
}
