package inspector

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/message"
	rmqslots "github.com/slotmq/go-rmq/slots"
)

// 20,000 messages, and a million by night: everything is still told, by calls of few elements
// each, which the inspector's client checks.
func TestManyMessages(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		perSlot := night.Times(5_000, 250_000)
		n := 4 * perSlot
		apart := 10_000_000 / n // ms, so that a third of them are due
		topic := define(t, rdb, message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 4})
		start := time.Now().Add(-time.Hour).UnixMilli()
		for slot := range topic.Slots {
			fill(t, rdb, protocol.StoreKey(topic.Name, slot), perSlot, func(k int) redis.Z {
				return redis.Z{Member: fmt.Sprintf("mail-%d-%06d", slot, k), Score: float64(start + int64((k*topic.Slots+slot)*apart))}
			})
		}
		sum, err := i.Stats(ctx, topic.Name)
		if err != nil || sum.Waiting != n || sum.Due < n/100*35 || sum.Due > n || sum.Overdue < time.Hour {
			t.Errorf("%+v, %v", sum, err)
		}
		for _, limit := range []int{1, 500, 3000} {
			first, err := each(i.Peek(ctx, topic.Name, Waiting, nil, limit))
			must.Do(t, err)
			if len(first) != limit || !slices.IsSortedFunc(first, func(a, b Entry) int { return a.Due.Compare(b.Due) }) {
				t.Errorf("limit %d: %d", limit, len(first))
			}
			for k, e := range first {
				if want := fmt.Sprintf("mail-%d-%06d", k%4, k/4); e.Content != want || e.Slot != k%4 {
					t.Fatalf("limit %d: %d is %+v, want %s", limit, k, e, want)
				}
			}
		}
		last := fmt.Sprintf("mail-%d-%06d", 3, perSlot-1)
		all, err := i.Explain(ctx, topic.Name, last, "")
		if err != nil || len(all) != 1 || all[0].Slot != 3 || all[0].Before != perSlot-1 || all[0].Waiting == nil {
			t.Errorf("%+v, %v", all, err)
		}
		if rmqslots.Of(last, 4) == 3 {
			t.Error("it should lie elsewhere than its content says")
		}
		began := time.Now()
		_, err = i.Slots(ctx, topic.Name)
		must.Do(t, err)
		t.Log("slots in", time.Since(began))
	})
}
