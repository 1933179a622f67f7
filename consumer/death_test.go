package consumer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// bury puts n messages among the dead of a slot, each in a ms of its own that is over.
func bury(t *testing.T, rdb redis.UniversalClient, topic message.Topic, slot, n int) {
	t.Helper()
	ms := rdb.Time(ctx).Val().UnixMilli() - int64(n)
	var dead []redis.Z
	for i := range n {
		dead = append(dead, redis.Z{Score: float64(ms + int64(i)), Member: fmt.Sprint("dead", i)})
	}
	must.Do(t, rdb.ZAdd(ctx, keysOf(topic, slot).Dead, dead...).Err())
}

// hang starts a worker at a topic with a death in each of 64 slots. What it calls for them
// ignores its context, and its calls are in the channel.
func hang(t *testing.T, c *Consumer, rdb redis.UniversalClient, most time.Duration) (stuck message.Topic, calls chan int) {
	t.Helper()
	stuck, calls = topicOf(t, message.KindFixedTime, 64), make(chan int, 100)
	for i := range stuck.Slots {
		bury(t, rdb, stuck, i, 1)
	}
	goOn := make(chan struct{})
	t.Cleanup(func() { close(goOn) }) // before it is closed
	must.Do(t, c.Listen(stuck, newNotes().done(), ListenOptions{Timeout: time.Millisecond, hung: most}))
	must.Do(t, c.ListenDead(stuck, func(_ context.Context, d *Death) error {
		calls <- d.Slot
		<-goOn
		return nil
	}))
	return stuck, calls
}

// A function for deaths may hang in more slots than it is called for at the same time. The deaths of
// another topic are reported.
func TestDeathsThatHangHoldUpNoOtherTopic(t *testing.T) {
	t.Parallel()
	rdb, fine := shared(t), topicOf(t, message.KindFixedTime, 1)
	c := newConsumer(t, rdb, Config{})
	_, calls := hang(t, c, rdb, time.Hour)
	reported := make(chan string, 10)
	must.Do(t, c.Listen(fine, ListenerFunc(func(context.Context, *Delivery) error { return verdict.DeadError(errors.New("no")) }), ListenOptions{}))
	must.Do(t, c.ListenDead(fine, func(_ context.Context, d *Death) error {
		reported <- d.Content
		return nil
	}))
	start(t, c)
	for range 16 {
		await.Signal(t, "a call", calls)
	}
	newSender(t, rdb, fine).send(t, "m")
	if content := await.Signal(t, "a report", reported); content != "m" {
		t.Errorf("%s is reported", content)
	}
}

// A call that hangs for longer than twice its Timeout keeps its own slot waiting, and no other.
func TestDeathsThatHangHoldUpNoOtherSlot(t *testing.T) {
	t.Parallel()
	rdb, b := shared(t), &book{}
	c := newConsumer(t, rdb, Config{Slog: b.logger()})
	stuck, calls := hang(t, c, rdb, 100*time.Millisecond)
	start(t, c)
	slots := map[int]bool{}
	for len(slots) < stuck.Slots {
		slots[await.Signal(t, "a call", calls)] = true
	}
	line := b.await(t, "a listener to the dead ignores its context")
	if line["topic"] != stuck.Name || line["content"] != "dead0" {
		t.Errorf("the line is %v", line)
	}
}

// holds is a hook that holds all that reads deaths, and says so.
type holds struct{ held, goOn chan struct{} }

func (h holds) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h holds) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if reads(cmd) {
			h.held <- struct{}{}
			<-h.goOn
		}
		return next(ctx, cmd)
	}
}

func (h holds) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Many topics have deaths. Few connections are used for them, and the calls for all topics
// together are limited, too.
func TestDeathsOfManyTopicsAtOnce(t *testing.T) {
	t.Parallel()
	const topics, slots = 20, 32
	rdb := shared(t)
	reading := holds{make(chan struct{}, 10*topics*slots), make(chan struct{})}
	calls, goOn := make(chan struct{}, topics*slots), make(chan struct{})
	rdb.AddHook(reading)
	c := newConsumer(t, rdb, Config{})
	read, report := sync.OnceFunc(func() { close(reading.goOn) }), sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(read) // both before it is closed
	t.Cleanup(report)
	for range topics {
		topic := topicOf(t, message.KindFixedTime, slots)
		for i := range slots {
			bury(t, rdb, topic, i, 1)
		}
		must.Do(t, c.Listen(topic, newNotes().done(), ListenOptions{}))
		must.Do(t, c.ListenDead(topic, func(context.Context, *Death) error {
			calls <- struct{}{}
			<-goOn
			return nil
		}))
	}
	start(t, c)
	exactly := func(n int, what string, began <-chan struct{}) {
		for range n {
			await.Signal(t, "a beginning", began)
		}
		await.Silence(t, fmt.Sprintf("more than %d %s at once", n, what), began, 200*time.Millisecond)
	}
	exactly(16, "requests", reading.held)
	read()
	exactly(256, "calls", calls)
	report()
	for range topics*slots - 256 {
		await.Signal(t, "a call", calls)
	}
}

// endsOnce is a hook that ends the goroutine of the first command that reads deaths.
type endsOnce struct{ done atomic.Bool }

func (h *endsOnce) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *endsOnce) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if reads(cmd) && h.done.CompareAndSwap(false, true) {
			runtime.Goexit()
		}
		return next(ctx, cmd)
	}
}

func (h *endsOnce) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// reads reports whether a command reads deaths or notes that they were reported.
func reads(cmd redis.Cmder) bool {
	args := cmd.Args()
	return len(args) > 3 && strings.HasPrefix(fmt.Sprint(args[0]), "eval") && strings.HasPrefix(fmt.Sprint(args[3]), "dead{")
}

// A hook of the Redis client ends the goroutine that reads deaths. They are read again.
func TestDeathsAreReadAgainIfAHookEndsTheGoroutine(t *testing.T) {
	t.Parallel()
	rdb, topic, hook := shared(t), topicOf(t, message.KindFixedTime, 1), &endsOnce{}
	bury(t, rdb, topic, 0, 1)
	rdb.AddHook(hook)
	c := newConsumer(t, rdb, Config{})
	reported := make(chan string, 10)
	must.Do(t, c.Listen(topic, newNotes().done(), ListenOptions{}))
	must.Do(t, c.ListenDead(topic, func(_ context.Context, d *Death) error {
		reported <- d.Content
		return nil
	}))
	start(t, c)
	if content := await.Signal(t, "a report", reported); content != "dead0" || !hook.done.Load() {
		t.Errorf("%s is reported, and a goroutine was ended: %v", content, hook.done.Load())
	}
}

// Slots that have many deaths to report take turns with the others.
func TestDeathsOfSlotsTakeTurns(t *testing.T) {
	t.Parallel()
	const each = 320
	rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 32)
	for i := range topic.Slots {
		bury(t, rdb, topic, i, each)
	}
	var mu sync.Mutex
	reported, all := make([]int, topic.Slots), make(chan struct{})
	c := newConsumer(t, rdb, Config{})
	must.Do(t, c.Listen(topic, newNotes().done(), ListenOptions{}))
	must.Do(t, c.ListenDead(topic, func(_ context.Context, d *Death) error {
		mu.Lock()
		defer mu.Unlock()
		if reported[d.Slot]++; reported[d.Slot] == each && all != nil {
			none := 0 // a machine that stands still may hold up one that has its turn
			for _, n := range reported {
				if n == 0 {
					none++
				}
			}
			if none > topic.Slots/4 { // without turns half of them wait
				t.Errorf("all deaths of slot %d are reported, and none of %d others", d.Slot, none)
			}
			close(all)
			all = nil
		}
		return nil
	}))
	ended := all
	start(t, c)
	await.Signal(t, "all deaths of a slot are reported", ended)
}
