package consumer

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// No message is handled before its time, by the server's own clock. The time
// each is due is what the store said before anything was taken.
func TestNeverEarly(t *testing.T) {
	t.Parallel()
	const within = 2 * time.Second
	messages, random := night.Times(400, 1500), sharetest.Rand(t)
	rdb := shared(t)
	for _, kind := range []message.Kind{message.KindFixedTime, message.KindRangeMerge} {
		topic := topicOf(t, kind, 16)
		s := newSender(t, rdb, topic)
		contents := numbered("m", messages)
		ms := make([]message.Message, messages)
		for i, c := range contents {
			in := 300*time.Millisecond + time.Duration(random.Int64N(within.Milliseconds()))*time.Millisecond
			ms[i] = message.FixedTime{Content: c, At: time.Now().Add(in)}
			if kind == message.KindRangeMerge {
				ms[i] = message.RangeMerge{Content: c, Range: in}
			}
		}
		_, err := s.SendBatch(ctx, topic, ms)
		must.Do(t, err)
		due := map[string]int64{}
		for slot := range topic.Slots {
			for _, z := range rdb.ZRangeWithScores(ctx, keysOf(topic, slot).Store, 0, -1).Val() {
				due[z.Member.(string)] = int64(z.Score)
			}
		}
		if len(due) != messages {
			t.Fatalf("%d are stored", len(due))
		}
		var mu sync.Mutex
		early := 0
		n := newNotes()
		work(t, rdb, Config{}, topic, n.around(func(_ context.Context, d *Delivery) error {
			now := rdb.Time(ctx).Val()
			if now.IsZero() {
				return fmt.Errorf("no time")
			}
			mu.Lock()
			defer mu.Unlock()
			if now.UnixMilli() < due[d.Content] {
				early++
			}
			return nil
		}))
		n.awaitAll(t, contents)
		n.wantOnce(t, contents)
		if early > 0 {
			t.Errorf("%v: %d of %d were early", kind, early, messages)
		}
	}
}

// Clocks of clients do not matter: with the server's standing ten minutes from
// ours, a message is handled when that clock says so, and not a ms before.
func TestSkewedClocks(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		for _, kind := range []message.Kind{message.KindFixedTime, message.KindRangeMerge} {
			memory, rdb := servertest.Memory(t)
			now := time.Now().Add(skew).Truncate(time.Millisecond)
			memory.SetTime(now)
			topic := topicOf(t, kind, 4)
			n := newNotes()
			c := work(t, rdb, Config{}, topic, n.done())
			p, err := producer.New(rdb, producer.Config{})
			must.Do(t, err)
			m := message.Message(message.RangeMerge{Content: "x", Range: time.Minute})
			if kind == message.KindFixedTime {
				m = message.FixedTime{Content: "x", At: now.Add(time.Minute)}
			}
			r, err := p.Send(ctx, topic, m)
			must.Do(t, err)
			must.Do(t, p.Close(ctx))
			score, err := rdb.ZScore(ctx, keysOf(topic, r.Slot).Store, "x").Result()
			must.Do(t, err)
			due := time.UnixMilli(int64(score))
			if late := due.Sub(now.Add(time.Minute)); late < 0 || late > 30*time.Second {
				t.Errorf("due %s after the server's minute", strconv.Quote(late.String()))
			}
			memory.SetTime(due.Add(-time.Millisecond))
			must.Do(t, c.settle(ctx))
			n.mu.Lock()
			if n.total != 0 {
				t.Errorf("skew %v, %v: handled a ms before its time", skew, kind)
			}
			n.mu.Unlock()
			memory.SetTime(due)
			must.Do(t, c.settle(ctx))
			n.wantOnce(t, []string{"x"})
		}
	}
}
