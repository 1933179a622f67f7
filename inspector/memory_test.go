package inspector

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// What changes things does so in memory, too.
func TestChangesInMemory(t *testing.T) {
	t.Parallel()
	mini, rdb := servertest.Memory(t)
	other := redis.NewClient(&redis.Options{Addr: mini.Addr(), ReadTimeout: await.Patience})
	defer other.Close()
	i := newInspector(t, bounded(t, other), Config{})
	topic := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4})
	for slot := range 4 {
		bury(t, rdb, topic, slot, 300, func(n int) (string, time.Time, string) {
			died := noon.Add(time.Duration(n/7) * time.Millisecond)
			return fmt.Sprint(4*n+slot, binary), died, whyOf(died, "500", "x")
		})
	}
	for _, newest := range []bool{false, true} {
		met := map[string]bool{}
		for _, e := range collect(t, i, topic, DeadQuery{Newest: newest, NewerThan: noon}) {
			met[e.Content] = true
		}
		if len(met) != 4*(300-7) {
			t.Errorf("newest first %v: %d are met", newest, len(met))
		}
	}
	r, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{Limit: 700}, RequeueOptions{})
	n, _, err2 := i.Dead().Delete(ctx, topic.Name, DeadQuery{Limit: 100}, nil)
	left, err3 := i.Dead().Count(ctx, topic.Name, DeadQuery{})
	if r != (Requeued{Stored: 700}) || n != 100 || left != 400 || err != nil || err2 != nil || err3 != nil {
		t.Errorf("%+v, %d deleted, %d left; %v, %v, %v", r, n, left, err, err2, err3)
	}
	x := "0" + binary // of those that died first
	e, err := i.Reschedule(ctx, topic.Name, x, "", Move{Priority: 900})
	if err != nil || e.Priority != 900 || e.Slot != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	if removed, _, err := i.Cancel(ctx, topic.Name, x, ""); err != nil || !removed {
		t.Errorf("%v, %v", removed, err)
	}
	paused, err := i.Pause(ctx, topic.Name, nil)
	resumed, err2 := i.Resume(ctx, topic.Name, []int{2})
	if paused != 4 || resumed != 1 || err != nil || err2 != nil {
		t.Errorf("%d paused, %d resumed; %v, %v", paused, resumed, err, err2)
	}
	if found, err := i.Verify(ctx, nil, nil); err != nil || found != nil {
		t.Errorf("found %v, %v", found, err)
	}
	put(t, rdb, protocol.StoreKey(topic.Name, 3), "x", 3)
	if found, err := i.Verify(ctx, nil, nil); err != nil || len(found) != 1 || found[0].Rule != "STORE" {
		t.Errorf("found %v, %v", found, err)
	}
}
