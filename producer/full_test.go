package producer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// A slot takes as many contents as it may hold. What merges passes all the same,
// and when something was taken there is room again.
func TestFullSlotRefuses(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		for _, kind := range []message.Kind{message.KindRangeMerge, message.KindPriority, message.KindFixedTime} {
			topic := topicOf(t, kind)
			topic.Name += kind.String()
			topic.Slots = 1
			p := newProducer(t, rdb, Config{MaxWaiting: 3})
			at := time.Now().Add(time.Hour)
			of := func(content string) message.Message {
				switch kind {
				case message.KindRangeMerge:
					return message.RangeMerge{Content: content, Range: time.Hour}
				case message.KindPriority:
					return message.Priority{Content: content, Priority: 17}
				default:
					return message.FixedTime{Content: content, At: at}
				}
			}
			if r := mustSend(t, p, topic, of("a")); r.Outcome != Stored {
				t.Errorf("%s: first: %v", kind, r.Outcome)
			}
			receipts, err := p.SendBatch(ctx, topic, []message.Message{of("b"), of("a"), of("c"), of("d"), of("b"), of("e")})
			var failed *message.BatchError
			if !errors.As(err, &failed) || fmt.Sprint(failed.Indexes) != "[3 5]" || !errors.Is(err, ErrQueueFull) {
				t.Fatalf("%s: %v", kind, err)
			}
			if receipts[0].Outcome != Accepted {
				t.Errorf("%s: two of four new: %v", kind, receipts[0].Outcome)
			}
			if _, err := p.Send(ctx, topic, of("d")); !errors.Is(err, ErrQueueFull) || errors.Is(err, ErrUncertain) {
				t.Errorf("%s: one more: %v", kind, err)
			}
			if r := mustSend(t, p, topic, of("c")); r.Outcome != Merged {
				t.Errorf("%s: one that waits: %v", kind, r.Outcome)
			}
			mustSend(t, newProducer(t, rdb, Config{}), topic, of("no limit"))
			rdb.ZRem(ctx, topic.Name+"_0", "a", "b")
			mustSend(t, p, topic, of("d"))
			if got := waiting(t, rdb, topic); len(got) != 3 {
				t.Errorf("%s: waiting: %v", kind, got)
			}
		}
	})
}

// Many senders at once never fill a slot beyond its limit.
func TestFullSlotUnderStorm(t *testing.T) {
	t.Parallel()
	const most, senders, each = 50, 8, 40
	rdb := servertest.SharedRedis(t).Client(t)
	topic := topicOf(t, message.KindPriority)
	topic.Slots = 2
	results := make(chan error, senders*each)
	for sender := range senders {
		p := newProducer(t, rdb, Config{MaxWaiting: most})
		go func() {
			for n := range each {
				_, err := p.Send(ctx, topic, message.Priority{Content: fmt.Sprint(sender, "/", n), Priority: 17})
				results <- err
			}
		}()
	}
	stored := 0
	for range senders * each {
		switch err := <-results; {
		case err == nil:
			stored++
		case !errors.Is(err, ErrQueueFull):
			t.Error(err)
		}
	}
	for slot := range 2 {
		if n := rdb.ZCard(ctx, fmt.Sprint(topic.Name, "_", slot)).Val(); n != most {
			t.Errorf("slot %d holds %d", slot, n)
		}
	}
	if stored != 2*most {
		t.Errorf("%d were told as stored", stored)
	}
}
