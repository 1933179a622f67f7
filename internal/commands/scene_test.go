package commands

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// binary is a content that breaks whatever takes contents for text.
const binary = "a\x00b\r\n\xff\xfe {3} \"q\" \x1b[31m'é\u202e"

// basisOf are bases by their slots.
var basisOf = []string{"shop 5", "shop 1", "shop 4", "shop 0"}

func rangeMerge(name string) message.Topic {
	return message.Topic{Name: name, Kind: message.KindRangeMerge, Slots: 4}
}

// soon is a message that is due at once, and later one that is not while a test runs.
func soon(content string) message.Message {
	return message.RangeMerge{Content: content, Range: time.Millisecond}
}

func later(content string) message.Message {
	return message.RangeMerge{Content: content, Range: 10 * time.Hour}
}

// send sends as a program would.
func send(t testing.TB, rdb redis.UniversalClient, topic message.Topic, ms ...message.Message) {
	t.Helper()
	p, err := producer.New(rdb, producer.Config{})
	must.Do(t, err)
	_, err = p.SendBatch(ctx, topic, ms)
	must.Do(t, err)
	must.Do(t, p.Close(ctx))
	await.True(t, "the topic is in the list", func() bool { // which a busy machine may do behind the answer
		return rdb.SIsMember(ctx, protocol.TopicsKey, topic.Name).Val()
	})
}

// stage makes a topic with something in each state, and returns the id of its worker:
//
//	sleepy   waits for 10 hours          slot 0
//	binary   waits for 20 hours          slot 3
//	busy     is in flight                slot 2
//	flaky    failed once, and waits      slot 1
//	hopeless dead                        slot 3
//
// and a priority topic with two messages and no worker.
func stage(t testing.TB, rdb redis.UniversalClient) (worker string) {
	t.Helper()
	orders := rangeMerge("orders")
	send(t, rdb, message.Topic{Name: "audience", Kind: message.KindPriority, Slots: 1},
		message.Priority{Content: "20", Priority: 20}, message.Priority{Content: "90", Priority: 90})

	entered, release := make(chan struct{}), make(chan struct{})
	c, err := consumer.New(rdb, consumer.Config{Worker: "app7", Backoff: verdict.Schedule(10 * time.Hour)})
	must.Do(t, err)
	must.Do(t, c.Listen(orders, consumer.ListenerFunc(func(ctx context.Context, d *consumer.Delivery) error {
		switch d.Content {
		case "busy":
			close(entered)
			<-release
			return nil
		case "flaky":
			return errors.New("the shop\ntimed out")
		}
		return verdict.DeadError(errors.New("no such shop"))
	}), consumer.ListenOptions{}))
	must.Do(t, c.Start(ctx))
	t.Cleanup(func() {
		close(release)
		must.Do(t, c.Close(await.CleanupContext(t)))
	})
	in := func(slot, content string) message.Message {
		return message.RangeMerge{Content: content, SlotBasis: slot, Range: time.Millisecond}
	}
	send(t, rdb, orders, in(basisOf[1], "flaky"), in(basisOf[3], "hopeless"), in(basisOf[2], "busy"))
	await.Signal(t, "its handler", entered)
	send(t, rdb, orders,
		message.RangeMerge{Content: "sleepy", SlotBasis: basisOf[0], Range: 10 * time.Hour},
		message.RangeMerge{Content: binary, SlotBasis: basisOf[3], Range: 20 * time.Hour})

	i, err := inspector.New(rdb, inspector.Config{})
	must.Do(t, err)
	await.True(t, "the stage is set", func() bool {
		s, err := i.Stats(ctx, "orders")
		must.Do(t, err)
		return s.Counts == inspector.Counts{Waiting: 2, InFlight: 1, Retrying: 1, Dead: 1} && s.Workers == 1
	})
	workers, err := i.Workers(ctx)
	must.Do(t, err)
	return workers[0].ID
}
