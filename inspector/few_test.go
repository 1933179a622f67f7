package inspector

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// readings is a hook that counts contents in pages of sorted sets.
type readings struct{ n atomic.Int64 }

func (r *readings) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *readings) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		defer r.count(cmd)
		return next(ctx, cmd)
	}
}

func (r *readings) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		defer r.count(cmds...)
		return next(ctx, cmds)
	}
}

func (r *readings) count(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		if page, ok := cmd.(*redis.StringSliceCmd); ok && len(cmd.Args()) == 11 && len(page.Val())%2 == 1 { // of page.lua
			r.n.Add(int64(len(page.Val()) / 2))
		}
	}
}

// Whoever wants few dead messages does not have thousands read, and they are the right ones.
func TestFewDeadOfManySlots(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb, looking := server.Client(t), server.Client(t)
	var read readings
	looking.AddHook(&read)
	i := newInspector(t, bounded(t, looking), Config{})
	const slots, each = 64, 30
	topic := define(t, rdb, topicOf(t, message.KindFixedTime, slots))
	for slot := range slots {
		bury(t, rdb, topic, slot, each, func(n int) (string, time.Time, string) {
			died := noon.Add(time.Duration(n*slots+slot) * time.Second)
			return name(n*slots + slot), died, whyOf(died, "-", "x")
		})
	}
	for _, c := range []struct {
		limit int
		most  int64
	}{{1, 3}, {5, 40}, {100, slots * (fewPage + 1) * 3}} {
		for _, newest := range []bool{false, true} {
			read.n.Store(0)
			all := contentsOf(collect(t, i, topic, DeadQuery{Limit: c.limit, Newest: newest}))
			if n := read.n.Load(); n == 0 || n > c.most || len(all) != c.limit {
				t.Errorf("limit %d, newest %v: %d read for %d", c.limit, newest, n, len(all))
			}
			for n, content := range all {
				want := name(n)
				if newest {
					want = name(slots*each - 1 - n)
				}
				if content != want {
					t.Errorf("limit %d, newest %v: %s is number %d", c.limit, newest, content, n)
				}
			}
		}
	}
	// What one slot has is enough for all that is wanted, and it begins in the middle.
	from := noon.Add(slots * each / 2 * time.Second)
	all := contentsOf(collect(t, i, topic, DeadQuery{Limit: 3, NewerThan: from, Slots: []int{7, 8}}))
	if fmt.Sprint(all) != fmt.Sprint([]string{name(slots*each/2 + 7), name(slots*each/2 + 8), name(slots*each/2 + slots + 7)}) {
		t.Errorf("%v", all)
	}
	read.n.Store(0)
	r, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{Limit: 1}, RequeueOptions{})
	if n := read.n.Load(); err != nil || r.Stored != 1 || n == 0 || n > 3 {
		t.Errorf("%d read to requeue one: %+v, %v", n, r, err)
	}
}

// After the clock was set back there are deaths of the future. They are met, and what dies
// again meanwhile does not go round, though it dies before them.
func TestDeathsOfTheFuture(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		const n = 600 // more than are read at once
		topic := topicOf(t, message.KindRangeMerge, 2)
		var got deliveries
		work(t, rdb, consumer.Config{}, topic, func(_ context.Context, d *consumer.Delivery) error {
			got.note(d.Content)
			return verdict.DeadError(errors.New("poison"))
		})
		for slot := range 2 {
			bury(t, rdb, topic, slot, n/2, func(n int) (string, time.Time, string) { return name(2*n + slot), noon, whyOf(noon, "-", "x") })
		}
		later := time.Now().Add(time.Hour).Truncate(time.Millisecond)
		for slot := range 2 {
			buryOne(t, rdb, topic, slot, fmt.Sprint("future ", slot), later)
		}
		if dead := collect(t, i, topic, DeadQuery{Newest: true, Limit: 1}); len(dead) != 1 || !dead[0].Died.Equal(later) {
			t.Errorf("%+v", dead)
		}
		r, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{Limit: 5 * n}, RequeueOptions{Rate: 1000})
		if err != nil || r != (Requeued{Stored: n + 2}) {
			t.Errorf("%+v, %v", r, err)
		}
		await.True(t, "all are dead again", func() bool {
			dead, err := i.Dead().Count(ctx, topic.Name, DeadQuery{})
			return err == nil && dead == n+2
		})
		if total := got.total(); total != n+2 {
			t.Errorf("%d deliveries", total)
		}
	})
}

// A time of death that somebody stored by hand may have a fraction. It is a death like others.
func TestDeathWithAFraction(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindFixedTime, 1))
		k := protocol.KeysOf(topic.Name, 0)
		for _, content := range []string{"a", "b", "c"} {
			must.Do(t, rdb.ZAdd(ctx, k.Dead, redis.Z{Member: content, Score: float64(noon.UnixMilli()) + 0.75}).Err())
		}
		only := func(content string) DeadQuery {
			return DeadQuery{OlderThan: noon.Add(time.Millisecond), NewerThan: noon.Add(-time.Millisecond), Content: func(c string) bool { return c == content }}
		}
		if dead := collect(t, i, topic, DeadQuery{}); len(dead) != 3 || !dead[0].Died.Equal(noon) {
			t.Errorf("%+v", dead)
		}
		r, err := i.Dead().Requeue(ctx, topic.Name, only("a"), RequeueOptions{})
		if err != nil || r != (Requeued{Stored: 1}) {
			t.Errorf("%+v, %v", r, err)
		}
		if n, _, err := i.Dead().Delete(ctx, topic.Name, only("b"), nil); n != 1 || err != nil {
			t.Errorf("%d deleted, %v", n, err)
		}
		if n, err := i.Dead().Count(ctx, topic.Name, DeadQuery{OlderThan: noon.Add(time.Millisecond)}); n != 1 || err != nil {
			t.Errorf("%d are left, %v", n, err)
		}
	})
}
