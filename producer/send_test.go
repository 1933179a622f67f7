package producer

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

var ctx = context.Background()

// onEachServer runs a test on a real and on the in-memory Redis.
func onEachServer(t *testing.T, test func(t *testing.T, rdb *redis.Client)) {
	t.Run("redis", func(t *testing.T) { test(t, servertest.SharedRedis(t).Client(t)) })
	t.Run("memory", func(t *testing.T) {
		_, rdb := servertest.Memory(t)
		test(t, rdb)
	})
}

func TestRangeMergeKeepsTheFirstTime(t *testing.T) {
	t.Parallel()
	for _, literal := range []bool{false, true} {
		onEachServer(t, func(t *testing.T, rdb *redis.Client) {
			p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindRangeMerge)
			topic.Literal = literal
			before := rdb.Time(ctx).Val()
			if r := mustSend(t, p, topic, message.RangeMerge{Content: "x", Range: time.Minute}); r.Outcome != Stored || r.Slot != slots.Of("x", 4) {
				t.Errorf("first send: %v in slot %d", r.Outcome, r.Slot)
			}
			after := rdb.Time(ctx).Val()
			first := int64(waiting(t, rdb, topic)["x"])
			// The server's clock is told in ms by the in-memory Redis, and reckoned with half
			// a round trip of error, which may be long on a busy machine.
			if lo, hi := before.UnixMilli()+60_000-50, after.UnixMilli()+60_000+30_000; first < lo || first > hi {
				t.Errorf("due at %d, want between %d and %d", first, lo, hi)
			}
			if r := mustSend(t, p, topic, message.RangeMerge{Content: "x", Range: time.Hour}); r.Outcome != Merged {
				t.Errorf("second send: %v", r.Outcome)
			}
			if now := int64(waiting(t, rdb, topic)["x"]); now != first {
				t.Errorf("the second send moved the time from %d to %d", first, now)
			}
		})
	}
}

func TestPriorityAndFixedTimeKeepTheLast(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		p, byPriority, byTime := newProducer(t, rdb, Config{}), topicOf(t, message.KindPriority), topicOf(t, message.KindFixedTime)
		mustSend(t, p, byPriority, message.Priority{Content: "x", Priority: 90})
		if r := mustSend(t, p, byPriority, message.Priority{Content: "x", Priority: 1<<53 - 1}); r.Outcome != Merged {
			t.Errorf("second send: %v", r.Outcome)
		}
		if got := waiting(t, rdb, byPriority)["x"]; got != 1<<53-1 {
			t.Errorf("priority is %v", got)
		}
		at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
		mustSend(t, p, byTime, message.FixedTime{Content: "x", At: at.Add(time.Hour)})
		mustSend(t, p, byTime, message.FixedTime{Content: "x", At: at.Add(time.Nanosecond)})
		if got := int64(waiting(t, rdb, byTime)["x"]); got != at.UnixMilli()+1 {
			t.Errorf("due at %d, want the next full ms, %d", got, at.UnixMilli()+1)
		}
	})
}

func TestSlotBasisDecidesTheSlot(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{Namespace: "shop"}), topicOf(t, message.KindPriority)
	for _, content := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		r := mustSend(t, p, topic, message.Priority{Content: content, SlotBasis: "merchant 7", Priority: 17})
		if want := slots.Of("merchant 7", 4); r.Slot != want {
			t.Errorf("%s is in slot %d, want %d", content, r.Slot, want)
		}
		key := protocol.StoreKey("shop:"+topic.Name, r.Slot)
		if rdb.ZScore(ctx, key, content).Val() != 17 {
			t.Errorf("%s is not in %s", content, key)
		}
	}
}

func TestBatchKeepsOrderAndReceipts(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		p, topic := newProducer(t, rdb, Config{ExactReceipts: true}), topicOf(t, message.KindPriority)
		mustSend(t, p, topic, message.Priority{Content: "old", Priority: 20})
		receipts, err := p.SendBatch(ctx, topic, []message.Message{
			message.Priority{Content: "new", Priority: 30},
			message.Priority{Content: "old", Priority: 31},
			message.Priority{Content: "new", Priority: 32},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []Receipt{
			{Outcome: Stored, Slot: slots.Of("new", 4)}, {Outcome: Merged, Slot: slots.Of("old", 4)}, {Outcome: Merged, Slot: slots.Of("new", 4)},
		} {
			if receipts[i] != want {
				t.Errorf("receipt %d is %v, want %v", i, receipts[i], want)
			}
		}
		if got := waiting(t, rdb, topic); got["new"] != 32 || got["old"] != 31 {
			t.Errorf("waiting: %v", got)
		}
		if receipts, err := p.SendBatch(ctx, topic, nil); err != nil || len(receipts) != 0 {
			t.Errorf("empty batch: %v, %v", receipts, err)
		}
	})
}

func TestSharedAnswersSayStoredMergedOrAccepted(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindPriority)
	topic.Slots = 1
	batch := func(contents ...string) Outcome {
		var ms []message.Message
		for _, c := range contents {
			ms = append(ms, message.Priority{Content: c, Priority: 17})
		}
		receipts, err := p.SendBatch(ctx, topic, ms)
		if err != nil {
			t.Fatal(err)
		}
		return receipts[0].Outcome
	}
	if got := batch("a", "b"); got != Stored {
		t.Errorf("all new: %v", got)
	}
	if got := batch("b", "c"); got != Accepted {
		t.Errorf("mixed: %v", got)
	}
	if got := batch("a", "b", "c"); got != Merged {
		t.Errorf("none new: %v", got)
	}
}

// One message is in the wrong: nothing of the batch is sent.
func TestBatchWithOneBadMessageSendsNothing(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindFixedTime)
	soon := time.Now().Add(time.Hour)
	_, err := p.SendBatch(ctx, topic, []message.Message{
		message.FixedTime{Content: "a", At: soon},
		message.FixedTime{Content: "b", At: soon},
		message.FixedTime{Content: "c"},
	})
	wantInvalid(t, err, "At")
	if err == nil || !strings.Contains(err.Error(), "message 2") {
		t.Errorf("the error does not name the index: %v", err)
	}
	if got := waiting(t, rdb, topic); len(got) != 0 {
		t.Errorf("stored: %v", got)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{MaxContent: 10}), topicOf(t, message.KindPriority)
	good := message.Priority{Content: "x", Priority: 17}
	send := func(topic message.Topic, m message.Message) error {
		_, err := p.Send(ctx, topic, m)
		return err
	}
	bad := topic
	bad.Slots = 3
	wantInvalid(t, send(bad, good), "Topic.Slots")
	wantInvalid(t, send(message.Topic{Name: "a{b}", Kind: message.KindPriority}, good), "Topic.Name")
	wantInvalid(t, send(topic, message.RangeMerge{Content: "x", Range: time.Second}), "Message")
	wantInvalid(t, send(topic, nil), "Message")
	wantInvalid(t, send(topic, message.Priority{Priority: 17}), "Content")
	wantInvalid(t, send(topic, message.Priority{Content: "12345678901", Priority: 17}), "Content")
	wantInvalid(t, send(topic, message.Priority{Content: "x", Priority: 16}), "Priority")
	if _, err := p.Send(nil, topic, good); err == nil { //nolint:staticcheck // what is tested
		t.Error("a nil context was accepted")
	}
	if _, err := New(nil, Config{}); err == nil {
		t.Error("a nil client was accepted")
	}
	for field, cfg := range map[string]Config{
		"Namespace":                  {Namespace: "a/b"},
		"Config.MaxContent":          {MaxContent: -1},
		"Config.Slog":                {Logger: zap.NewNop(), Slog: slog.Default()},
		"Config.Observers":           {Observers: []message.Observer{message.ObserverFunc(nil)}},
		"Config.Durability.Replicas": {Durability: Durability{Replicas: -1}},
		"Config.Durability.Timeout":  {Durability: Durability{Timeout: -1}},
	} {
		_, err := New(rdb, cfg)
		wantInvalid(t, err, field)
	}
	if got := waiting(t, rdb, topic); len(got) != 0 {
		t.Errorf("stored: %v", got)
	}
}

func TestContentsAreBinarySafe(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindPriority)
		contents := []string{"\x00", "\xff\xfe", "a\r\nb", strings.Repeat("x", limits.DefaultContentBytes), " "}
		for _, c := range contents {
			mustSend(t, p, topic, message.Priority{Content: c, Priority: 17})
		}
		got := waiting(t, rdb, topic)
		for _, c := range contents {
			if got[c] != 17 {
				t.Errorf("%.10q is not stored", c)
			}
		}
	})
}

func TestCloseWritesWhatWaitsAndRefusesTheRest(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindPriority)
	mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})
	for range 3 {
		if err := p.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Send(ctx, topic, message.Priority{Content: "late", Priority: 17}); !errors.Is(err, message.ErrClosed) {
		t.Errorf("send after Close: %v", err)
	}
	if _, err := p.SendBatch(ctx, topic, []message.Message{message.Priority{Content: "late", Priority: 17}}); !errors.Is(err, message.ErrClosed) {
		t.Errorf("batch after Close: %v", err)
	}
	if got := waiting(t, rdb, topic); len(got) != 1 {
		t.Errorf("waiting: %v", got)
	}
}
