package wakeups

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/shift"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/luascripts"
)

// listener notes what it hears.
type listener struct {
	Hearer
	mu     sync.Mutex
	woken  map[int]bool
	missed int
}

func (l *listener) Woken(_, slot int, _ time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.woken[slot] = true
}

func (l *listener) Missed(int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missed++
}

func (l *listener) counts() (woken []int, missed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.woken)), l.missed
}

// What is published at one master is heard there, before and after a hash slot has moved to it, and
// whenever the subscription was made anew all slots are looked at.
func TestEachMasterIsHeard(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 3, 0)
	l := &listener{woken: map[int]bool{}}
	e := &Ears{Shift: shift.New(), Redis: cluster.Client(t), Topics: []Topic{{Name: "wide", Slots: 16}}, Hearer: l, Silence: silence, Log: zap.NewNop()}
	sub, err := e.Subscribe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	e.Shift.Running.Go(func() { e.Run(sub) })
	t.Cleanup(func() {
		e.Shift.EndListening()
		e.Shift.Running.Wait()
	})
	// near publishes at each master what its producers would, and returns the slots.
	near := func() (slots []int) {
		for _, m := range e.masters(context.Background()) {
			for slot := range 16 {
				channel := luascripts.NearChannel("wide", slot)
				if _, ok := m.near[channel]; !ok {
					continue
				}
				await.True(t, "somebody hears it", func() bool {
					return m.Do(context.Background(), "spublish", channel, luascripts.AppendWake(nil, slot, 0)).Val() == int64(1)
				})
				slots = append(slots, slot)
			}
		}
		slices.Sort(slots)
		return slots
	}
	first := near()
	if len(first) != 3 {
		t.Fatalf("the topic is on %d masters", len(first))
	}
	await.True(t, "a wake-up from each master", func() bool {
		woken, missed := l.counts()
		return slices.Equal(woken, first) && missed == 3
	})

	moving := cluster.Migrate(t, luascripts.StoreKey("wide", first[0]))
	moving.Finish(t)
	await.True(t, "the subscriptions that moved", func() bool {
		_, missed := l.counts()
		return missed >= 5 // at the master that the slot has left, and at the one that has it
	})
	e.Redis.(interface{ ReloadState(context.Context) }).ReloadState(context.Background())
	second := near()
	if slices.Equal(first, second) {
		t.Fatal("no other slot is the lowest of a master now")
	}
	await.True(t, "a wake-up from each master again", func() bool {
		woken, _ := l.counts()
		return !slices.ContainsFunc(second, func(slot int) bool { return !slices.Contains(woken, slot) })
	})
}
