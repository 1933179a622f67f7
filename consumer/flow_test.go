package consumer

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/worker/flow"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// Behind 64 handlers something serves eight at a time. Fewer handlers are left, and as long as
// messages wait there are enough of them to keep it busy. The worker is alone, and tells nobody.
func TestFewerHandlersWhereMoreHandleNoMore(t *testing.T) {
	t.Parallel()
	const capacity = 8
	rdb, topic, untouched := shared(t), topicOf(t, message.KindPriority, 64), topicOf(t, message.KindPriority, 4)
	s := newSender(t, rdb, topic)
	sub := rdb.Subscribe(ctx, protocol.WakeChannel(topic.Name))
	t.Cleanup(func() { sub.Close() })
	_, err := sub.Receive(ctx)
	must.Do(t, err)
	fed := make(chan struct{})
	stop := make(chan struct{})
	go func() { // as fast as the messages are handled, about
		defer close(fed)
		for i := 0; ; i++ {
			contents := numbered("m", 2048)
			s.send(t, contents...)
			select {
			case <-stop:
				return
			default:
				await.Pass(time.Second)
			}
		}
	}()
	feedNoMore := sync.OnceFunc(func() { close(stop); <-fed })
	t.Cleanup(feedNoMore) // also behind a failure
	behind := make(chan struct{}, capacity)
	var running, most atomic.Int64
	c := newConsumer(t, rdb, Config{Concurrency: 64})
	must.Do(t, c.Listen(topic, ListenerFunc(func(context.Context, *Delivery) error {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		behind <- struct{}{}
		await.Pass(5 * time.Millisecond)
		<-behind
		return nil
	}), ListenOptions{}))
	must.Do(t, c.Listen(untouched, newNotes().done(), ListenOptions{Concurrency: 8}))
	if got := c.Handlers(topic); got != 64 {
		t.Errorf("%d handlers before it has started", got)
	}
	start(t, c)
	// How few is shown without a busy machine, where what takes long is not all behind the handlers: in
	// internal/worker/flow, and by night.
	last, few := 0, night.Times(48, 3*capacity)
	await.True(t, "there are few handlers", func() bool {
		if now := c.Handlers(topic); now != last {
			t.Logf("%d handlers, %d run", now, running.Load())
			last = now
		}
		return last <= few
	})
	feedNoMore()
	if last < capacity/2 || most.Load() < 32 {
		t.Errorf("%d handlers are left, of %d", last, most.Load())
	}
	must.Do(t, rdb.Publish(ctx, protocol.WakeChannel(topic.Name), "the last").Err())
	patient, cancel := context.WithTimeout(ctx, await.Patience)
	defer cancel()
	for heard := ""; heard != "the last"; {
		note, err := sub.ReceiveMessage(patient)
		must.Do(t, err)
		if heard = note.Payload; strings.HasPrefix(heard, "flow:") {
			t.Errorf("a worker that is alone says %q", heard)
		}
	}
	if got := c.Handlers(untouched); got != 8 {
		t.Errorf("%d handlers of another topic", got)
	}
	if got := c.Handlers(message.Topic{Name: "unknown"}); got != 0 {
		t.Errorf("%d handlers of a topic without a listener", got)
	}
}

// Two workers with 64 places before something that serves eight at a time come down together, as one leads and tells the
// other one what it tries.
func TestWorkersShareABottleneck(t *testing.T) {
	t.Parallel()
	const capacity = 8
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 64)
	fill(t, newSender(t, rdb, topic), 400)
	sub := rdb.Subscribe(ctx, protocol.WakeChannel(topic.Name))
	t.Cleanup(func() { sub.Close() })
	_, err := sub.Receive(ctx)
	must.Do(t, err)
	behind := make(chan struct{}, capacity)
	worker := func() *Consumer {
		c := newConsumer(t, rdb, Config{Concurrency: 64})
		must.Do(t, c.Listen(topic, ListenerFunc(func(context.Context, *Delivery) error {
			behind <- struct{}{}
			await.Pass(20 * time.Millisecond)
			<-behind
			return nil
		}), ListenOptions{}))
		start(t, c)
		return c
	}
	one, two := worker(), worker()
	patient, cancel := context.WithTimeout(ctx, await.Patience)
	defer cancel()
	for led := false; !led; {
		note, err := sub.ReceiveMessage(patient)
		must.Do(t, err)
		w, ok := flow.ParseWord(note.Payload)
		led = ok && (w.From == one.Worker() || w.From == two.Worker())
	}
	few := night.Times(64, 3*capacity) // a busy machine is a bottleneck, too
	await.True(t, "both have few handlers", func() bool { return one.Handlers(topic)+two.Handlers(topic) <= few })
}

// A worker that is new, or had nothing to do, takes the number of handlers that it hears of.
func TestTakesTheHandlersOfOthers(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 4)
	c := work(t, rdb, Config{Concurrency: 64}, topic, newNotes().done())
	say := func(topic string, n int) {
		w := flow.Word{From: "another", Stay: n, Places: n, Of: n, Max: 64}
		must.Do(t, rdb.Publish(ctx, protocol.WakeChannel(topic), w.Append(nil)).Err())
	}
	for _, n := range []int{20, 7} {
		say(topic.Name, n)
		await.True(t, "it has as many handlers", func() bool { return c.Handlers(topic) == n })
	}
	fixed := topicOf(t, message.KindPriority, 4)
	n := newNotes()
	c = work(t, rdb, Config{Concurrency: 64}, fixed, n.done(), ListenOptions{Flow: Flow{Min: 64}})
	say(fixed.Name, 5)
	newSender(t, rdb, fixed).send(t, "m")
	n.await(t, "a message whose wake-up comes behind that word is handled", func() bool { return n.total == 1 })
	if got := c.Handlers(fixed); got != 64 {
		t.Errorf("%d handlers, which are fixed", got)
	}
}

// Handlers that time out make their number smaller, unless it is fixed.
func TestTimeoutsMakeHandlersFewer(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	c := newConsumer(t, rdb, Config{Concurrency: 64, Timeout: 50 * time.Millisecond, Backoff: verdict.Schedule(10 * time.Millisecond)})
	var topics []message.Topic
	for _, flow := range []Flow{{Min: 5, Max: 20}, {Min: 64}} {
		topic := topicOf(t, message.KindPriority, 32)
		topics = append(topics, topic)
		fill(t, newSender(t, rdb, topic), 2)
		must.Do(t, c.Listen(topic, ListenerFunc(func(ctx context.Context, _ *Delivery) error {
			<-ctx.Done()
			return errors.Join(ctx.Err(), context.Cause(ctx))
		}), ListenOptions{Flow: flow, NoBreaker: true}))
	}
	start(t, c)
	if got := c.Handlers(topics[0]); got > 20 {
		t.Errorf("%d handlers, at most 20", got)
	}
	await.True(t, "there are fewer", func() bool { return c.Handlers(topics[0]) <= 14 })
	if few, fixed := c.Handlers(topics[0]), c.Handlers(topics[1]); few < 5 || fixed != 64 {
		t.Errorf("%d handlers, at least 5; %d, which is fixed", few, fixed)
	}
}

// A handler that pushes back makes the handlers fewer, also those that begin when the rest is over.
func TestPushbackMakesHandlersFewer(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 16)
	fill(t, newSender(t, rdb, topic), 2)
	full := errors.New("full")
	var times atomic.Int64
	c := work(t, rdb, Config{Concurrency: 64}, topic, func(context.Context, *Delivery) error {
		if times.Add(1) == 1 {
			return verdict.PushbackError(10*time.Millisecond, full)
		}
		return nil
	}, ListenOptions{Flow: Flow{Max: 10}})
	await.True(t, "there are fewer", func() bool { return c.Handlers(topic) == 7 })
}

// While only one message is tried now and then, one handler may run, also between two of these. 0
// is that of a topic that rests.
func TestHandlersWhileAllFail(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 16)
	c := newConsumer(t, rdb, Config{Concurrency: 8})
	must.Do(t, c.Listen(topic, newNotes().done(), ListenOptions{}))
	if all := c.AllHandlers(); all == nil || len(all) != 0 {
		t.Errorf("%v before the start", all)
	}
	start(t, c)
	x := c.running.topics[0]
	for _, step := range []struct {
		change func()
		want   int
	}{
		{func() {}, 8},
		{func() { x.scheduled.Allow(schedule.ByBreaker, 0) }, 1},
		{func() { x.gate.Rest(time.Hour) }, 0},
		{func() { x.scheduled.Allow(schedule.ByBreaker, 8) }, 0},
	} {
		step.change()
		if one, all := c.Handlers(topic), c.AllHandlers(); one != step.want || len(all) != 1 || all[topic.Name] != step.want {
			t.Errorf("%d handlers, and %v: not %d", one, all, step.want)
		}
	}
	must.Do(t, c.Close(ctx))
	if all := c.AllHandlers(); all != nil {
		t.Errorf("%v after the end", all)
	}
}
