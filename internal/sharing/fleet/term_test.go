package fleet

import (
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/message"
)

// A topic is refused while slots of it are shared out.
func TestRefusedAndSharedOutAtOnce(t *testing.T) {
	t.Parallel()
	one := &Topic{Topic: message.Topic{Name: "t", Slots: 1}}
	one.scheduled = &schedule.Topic{Name: "t", Slots: 1, Most: 16, NewSlot: func(int) *schedule.Slot { return new(schedule.Slot) }}
	s := schedule.New(16, []*schedule.Topic{one.scheduled}, time.Now, nil)
	in := &Term{id: "me", Log: zap.NewNop(), Claim: &leases{id: "me"}}
	s.Terms.Begin(in)
	w := &terms{schedule: s, topics: []*Topic{one}, gained: func(*schedule.Topic) {}}
	in.shares = map[string][]int{one.Name: {0}}
	for range night.Times(20_000, 100_000) {
		one.refused.Store(false)
		one.scheduled.Assign(in, nil)
		var all sync.WaitGroup
		all.Go(func() { w.workAt(one, in) })
		all.Go(func() { // as compare does
			one.refused.Store(true)
			w.workAt(one, in)
		})
		all.Wait()
		if len(s.Assigned(one.scheduled)) > 0 {
			t.Fatal("a topic that was refused is worked at")
		}
	}
}
