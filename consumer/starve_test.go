package consumer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// A message whose handler never returns takes no place for good: it dies in the
// end, and the others go on all the while.
func TestHungHandlersLeaveTheirPlaces(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 4)
	release := make(chan struct{})
	n := newNotes()
	fine, hung := n.done(), make(chan int, 20)
	c := newConsumer(t, rdb, Config{
		Concurrency: 1, Timeout: 10 * time.Millisecond, hung: 100 * time.Millisecond, Lease: time.Second,
		Backoff: verdict.Schedule(time.Millisecond), SafetyLook: 100 * time.Millisecond,
	})
	must.Do(t, c.Listen(topic, ListenerFunc(func(ctx context.Context, d *Delivery) error {
		if d.Content == "poison" {
			hung <- d.Attempt
			<-release
			return nil
		}
		return fine(ctx, d)
	}), ListenOptions{}))
	start(t, c)
	s := newSender(t, rdb, topic)
	s.send(t, "poison")
	for attempt := 1; attempt <= 3; attempt++ {
		if got := await.Signal(t, "a handler hangs", hung); got != attempt {
			t.Errorf("attempt %d, want %d", got, attempt)
		}
		more := numbered(strings.Repeat("m", attempt), 40)
		s.send(t, more...)
		n.awaitAll(t, more)
	}
	close(release)
}

// A slot whose turns Redis cannot answer does not keep its place from others.
func TestBrokenSlotLeavesItsPlace(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 4)
	broken := protocol.KeysOf(topic.Name, 0).Prepare
	must.Do(t, rdb.Set(ctx, broken, "not a sorted set", 0).Err())
	n := newNotes()
	s := newSender(t, rdb, topic)
	contents := numbered("m", 40)
	s.send(t, contents...)
	work(t, rdb, Config{Concurrency: 1}, topic, n.done())
	var others []string
	for _, content := range contents {
		if slotOf(topic, content) != 0 {
			others = append(others, content)
		}
	}
	n.awaitAll(t, others)
	must.Do(t, rdb.Del(ctx, broken).Err())
	n.awaitAll(t, contents)
}

// A table of back-offs that is too short is a slip, not the end of the process.
func TestBackoffThatPanics(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	table := []time.Duration{time.Millisecond}
	failed := make(chan struct{}, 1)
	work(t, rdb, Config{Backoff: func(retry int) time.Duration { return table[retry] }}, topic,
		func(context.Context, *Delivery) error {
			failed <- struct{}{}
			return errors.New("no")
		})
	newSender(t, rdb, topic).send(t, "x")
	await.Signal(t, "one has failed", failed)
	await.True(t, "it waits for its retry", func() bool {
		return rdb.ZScore(ctx, protocol.KeysOf(topic.Name, 0).Retry, "x").Err() == nil
	})
}

func TestMiddlewareIsChecked(t *testing.T) {
	rdb := shared(t)
	if _, err := New(rdb, Config{Middleware: []Middleware{nil}}); !errors.Is(err, message.ErrInvalid) {
		t.Errorf("nil middleware: %v", err)
	}
	c := newConsumer(t, rdb, Config{Middleware: []Middleware{func(MessageListener) MessageListener { return nil }}})
	err := c.Listen(topicOf(t, message.KindPriority, 1), ListenerFunc(func(context.Context, *Delivery) error { return nil }), ListenOptions{})
	if err == nil {
		t.Error("a middleware that returns nil is accepted")
	}
}

// A middleware may ask for the worker's id while it wraps.
func TestMiddlewareMayAskForTheWorker(t *testing.T) {
	t.Parallel()
	var c *Consumer
	id := ""
	c, err := New(shared(t), Config{Middleware: []Middleware{func(l MessageListener) MessageListener {
		id = c.Worker()
		return l
	}}})
	must.Do(t, err)
	must.Do(t, c.Listen(topicOf(t, message.KindPriority, 1), newNotes().done(), ListenOptions{}))
	if id == "" || id != c.Worker() {
		t.Errorf("it was %q, and is %q", id, c.Worker())
	}
}

// Another worker with an old view takes a batch and dies, and nobody was woken
// for it: the safety look finds what is in flight.
func TestStrandedBatchIsFound(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	topic, n := topicOf(t, message.KindPriority, 1), newNotes()
	k := protocol.KeysOf(topic.Name, 0)
	scripts := protocol.New(rdb)
	work(t, rdb, Config{Lease: time.Second, SafetyLook: 20 * time.Millisecond}, topic, n.done())
	// In one transaction, so that the owner cannot be quicker.
	other := protocol.Turn{Keys: k, Priority: true, Worker: "other", Lease: time.Second, Count: 1}
	other.Fence = takeTurn(t, rdb, &other).Fence
	var taken redis.Cmder
	_, err := rdb.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.ZAdd(ctx, k.Store, redis.Z{Member: "x", Score: 100})
		taken = scripts.TurnCmd(ctx, &other)
		return tx.Process(ctx, taken)
	})
	must.Do(t, err)
	if a, err := protocol.TurnAnswer(&other, taken); err != nil || a.Code != protocol.Batch {
		t.Fatalf("the other worker has %v, %v", a.Code, err)
	}
	n.awaitAll(t, []string{"x"})
}

// The network swallows everything: Close gives up soon after its context ends.
func TestCloseInABlackHole(t *testing.T) {
	t.Parallel()
	proxy := servertest.NewProxy(t, servertest.Redis(t).Addr())
	rdb := proxy.Client(t, func(o *redis.Options) { o.ReadTimeout = -1 })
	c, err := New(rdb, Config{})
	must.Do(t, err)
	topic, n := topicOf(t, message.KindPriority, 2), newNotes()
	must.Do(t, c.Listen(topic, n.done(), ListenOptions{}))
	start(t, c)
	newSender(t, proxy.Client(t), topic).send(t, "x") // so that there is a slot to be left
	n.awaitAll(t, []string{"x"})
	proxy.Freeze()
	if err := closeIn(c, time.Millisecond); err == nil {
		t.Error("Close says that all is well")
	}
	proxy.Cut() // ends what still waits
}
