package producer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// Each send moves what waits to its range after it, and the receipt says to when; the ceiling after the
// first one stops it.
func TestExtend(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindRangeMerge)
		m := message.RangeMerge{Content: "x", Range: time.Hour, Extend: true, Ceiling: 3 * time.Hour}
		first := mustSend(t, p, topic, m)
		if now := rdb.Time(ctx).Val(); first.Outcome != Stored || first.Due.Before(now.Add(59*time.Minute)) || first.Due.After(now.Add(time.Hour+time.Millisecond)) {
			t.Errorf("the first at %v: %+v", now, first)
		}
		m.Range = 2 * time.Hour
		second := mustSend(t, p, topic, m)
		if moved := second.Due.Sub(first.Due); second.Outcome != Merged || moved < time.Hour || moved > 61*time.Minute {
			t.Errorf("moved by %v: %+v", moved, second)
		}
		m.Range, m.Ceiling = 3*time.Hour-1, 3*time.Hour
		third := mustSend(t, p, topic, m)
		if left := first.Due.Add(2 * time.Hour).Sub(third.Due); left < 0 || left > time.Millisecond {
			t.Errorf("%v below its ceiling: %+v", left, third)
		}
		if got := waiting(t, rdb, topic); got["x"] != float64(third.Due.UnixMilli()) {
			t.Errorf("waiting: %v, not until %v", got, third.Due)
		}
	})
}

// In one batch some messages move what waits and others do not. Each meets what was sent before it, and
// what became of it is known exactly.
func TestExtendInOrder(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		for _, cfg := range []Config{{}, {ExactReceipts: true}, {MaxWaiting: 2}} {
			p, topic := newProducer(t, rdb, cfg), topicOf(t, message.KindRangeMerge)
			topic.Slots = 1
			plain := func(content string, wait time.Duration) message.Message {
				return message.RangeMerge{Content: content, Range: wait}
			}
			extend := func(content string, wait time.Duration) message.Message {
				return message.RangeMerge{Content: content, Range: wait, Extend: true, Ceiling: 24 * time.Hour}
			}
			receipts, err := p.SendBatch(ctx, topic, []message.Message{
				plain("x", time.Hour), extend("x", 3*time.Hour), plain("x", time.Minute), extend("y", time.Hour), extend("x", 2*time.Hour), plain("z", time.Hour),
			})
			var failed *message.BatchError
			if full := cfg.MaxWaiting > 0; full != errors.As(err, &failed) || full && (len(failed.Indexes) != 1 || failed.Indexes[0] != 5 || !errors.Is(err, ErrQueueFull)) {
				t.Fatalf("%+v: %v", cfg, err)
			}
			for i, want := range []Outcome{Stored, Merged, Merged, Stored, Merged} {
				if receipts[i].Outcome != want {
					t.Errorf("%+v, message %d: %+v", cfg, i, receipts[i])
				}
			}
			if !receipts[2].Due.IsZero() || receipts[1].Due.Sub(receipts[4].Due) < 59*time.Minute {
				t.Errorf("%+v: %+v", cfg, receipts)
			}
			if got := waiting(t, rdb, topic); got["x"] != float64(receipts[4].Due.UnixMilli()) || got["y"] != float64(receipts[3].Due.UnixMilli()) {
				t.Errorf("%+v: waiting: %v, receipts %+v", cfg, got, receipts)
			}
		}
	})
}

// Observers learn that a send only moved what waits, and to when.
func TestExtendIsObserved(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	events := &seen{}
	p, topic := newProducer(t, rdb, Config{Observers: []message.Observer{events}}), topicOf(t, message.KindRangeMerge)
	m := message.RangeMerge{Content: "x", Range: time.Hour, Extend: true, Ceiling: 3 * time.Hour}
	first := mustSend(t, p, topic, m)
	m.Range = 2 * time.Hour
	second := mustSend(t, p, topic, m)
	p.idle.Wait()
	events.want(t, fmt.Sprint("sent x ", first.Due.UnixMilli()), fmt.Sprint("merged x ", second.Due.UnixMilli()), "1 merged")
}

// What waits may be due earlier than before, by a shorter range: workers hear of it, and of when.
func TestExtendWakes(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindRangeMerge)
	m := message.RangeMerge{Content: "x", Range: 2 * time.Hour, Extend: true, Ceiling: 3 * time.Hour}
	mustSend(t, p, topic, m)
	p.idle.Wait()
	heard := rdb.Subscribe(ctx, protocol.WakeChannel(topic.Name))
	defer heard.Close()
	if _, err := heard.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	m.Range = time.Hour
	mustSend(t, p, topic, m)
	heardOf, err := heard.ReceiveTimeout(ctx, time.Minute)
	if err != nil {
		t.Fatalf("no wake-up: %v", err)
	}
	var in []time.Duration
	protocol.ParseWake(heardOf.(*redis.Message).Payload, func(_ int, d time.Duration) { in = append(in, d) })
	if len(in) != 1 || (in[0]-time.Hour).Abs() > await.Patience { // the server's clock is known as well as it answers quickly
		t.Errorf("woken in %v", in)
	}
}
