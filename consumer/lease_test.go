package consumer

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// Where Redis is far away, a lease that is too short is made longer: else all batches would be lost for ever.
func TestLeaseShorterThanTheWayToRedis(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	topic := topicOf(t, message.KindPriority, 1)
	contents := numbered("m", 5)
	newSender(t, server.Client(t), topic).send(t, contents...)
	proxy := servertest.NewProxy(t, server.Addr())
	proxy.Delay(300 * time.Millisecond)
	core, logs := observer.New(zap.WarnLevel)
	n := newNotes()
	work(t, proxy.Client(t), Config{Logger: zap.New(core), Lease: time.Second}, topic, n.around(func(context.Context, *Delivery) error {
		await.Pass(500 * time.Millisecond) // all of them together, longer than the lease
		return nil
	}))
	n.awaitAll(t, contents)
	lines := logs.FilterMessage("the lease is too short for the way to Redis, and is made longer").All()
	if len(lines) == 0 { // several, where a busy machine made it start anew
		t.Fatalf("no line: %v", logs.All())
	}
	if x := lines[len(lines)-1].ContextMap(); x["lease"] != time.Second || x["longer"].(time.Duration) < 4350*time.Millisecond || x["roundTrip"].(time.Duration) < 600*time.Millisecond {
		t.Errorf("%v", x)
	}
}
