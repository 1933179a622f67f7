package consumer

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// wantHealth fails unless Health says what is wanted; empty: that all is well.
func wantHealth(t *testing.T, c *Consumer, want string) {
	t.Helper()
	if err := c.Health(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("health is %v, want %q", err, want)
	}
}

// A worker does its work between its start and its end.
func TestHealthOfALife(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	c := newConsumer(t, rdb, Config{})
	wantHealth(t, c, "") // it listens to nothing
	begun, goOn := make(chan struct{}), make(chan struct{})
	must.Do(t, c.Listen(topic, ListenerFunc(func(context.Context, *Delivery) error {
		close(begun)
		<-goOn
		return nil
	}), ListenOptions{}))
	wantHealth(t, c, "has not started")
	start(t, c)
	wantHealth(t, c, "")
	newSender(t, rdb, topic).send(t, "m")
	await.Signal(t, "the handler runs", begun)
	wantHealth(t, c, "")
	closed := make(chan error, 1)
	go func() { closed <- c.Close(ctx) }()
	await.True(t, "it closes", func() bool { return c.Health() != nil })
	wantHealth(t, c, "the worker closes")
	close(goOn)
	must.Do(t, await.Signal(t, "Close returns", closed))
	if err := c.Health(); !errors.Is(err, message.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	must.Do(t, c.Alive())
}

// While Redis hangs, a worker is not healthy, after a while, and stays alive, however long that
// takes: to start it again would help nothing. It is healthy when Redis answers again.
func TestHealthWithoutRedis(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb, topic := server.Client(t), topicOf(t, message.KindPriority, 4)
	n := newNotes()
	c := newConsumer(t, rdb, Config{SafetyLook: 50 * time.Millisecond})
	c.stuckAfter = 2 * time.Second // less than a request waits for its answer
	must.Do(t, c.Listen(topic, n.done(), ListenOptions{}))
	start(t, c)
	s := newSender(t, rdb, topic)
	s.send(t, numbered("before", 20)...)
	n.awaitAll(t, numbered("before", 20))
	wantHealth(t, c, "")
	server.Pause()
	c.topics[0].scheduled.Wake(0, 0) // a turn, which waits for its answer
	await.True(t, "it is not healthy", func() bool {
		if err := c.Alive(); err != nil {
			t.Fatal(err)
		}
		return c.Health() != nil
	})
	wantHealth(t, c, "no turn and no look")
	server.Resume()
	await.True(t, "it is healthy", func() bool { return c.Health() == nil })
	s.send(t, "after")
	n.await(t, "it works", func() bool { return len(n.attempts["after"]) == 1 })
	must.Do(t, c.Alive())
}

// Slots that are all busy for long are not looked at, and the worker is healthy all the same.
func TestHealthWhileHandlersAreLong(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	begun, goOn := make(chan struct{}), make(chan struct{})
	c := work(t, rdb, Config{SafetyLook: 20 * time.Millisecond}, topic, func(context.Context, *Delivery) error {
		close(begun)
		<-goOn
		return nil
	})
	newSender(t, rdb, topic).send(t, "m")
	await.Signal(t, "the handler runs", begun)
	heard := func() time.Time { return time.Now().Add(-c.running.life.Quiet()) }
	for range 20 {
		before := heard()
		await.True(t, "it goes on", func() bool { return heard().Sub(before) > time.Millisecond })
	}
	wantHealth(t, c, "")
	close(goOn)
}

// A worker all of whose turns fail is not healthy, although Redis answers something.
func TestHealthWhileTurnsFail(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	must.Do(t, rdb.Set(ctx, keysOf(topic, 0).Store, "no sorted set", 0).Err())
	c := newConsumer(t, rdb, Config{SafetyLook: 20 * time.Millisecond})
	c.stuckAfter = time.Second
	must.Do(t, c.Listen(topic, newNotes().done(), ListenOptions{}))
	start(t, c)
	await.True(t, "it is not healthy", func() bool { return c.Health() != nil })
	wantHealth(t, c, "is not of the type")
	must.Do(t, rdb.Del(ctx, keysOf(topic, 0).Store).Err())
	await.True(t, "it is healthy", func() bool { return c.Health() == nil })
}

// wedge is an observer that blocks what calls it.
type wedge struct {
	once    sync.Once
	reached chan struct{}
	free    chan struct{}
}

func (w *wedge) Observe(*message.Event) {
	w.once.Do(func() { close(w.reached) })
	<-w.free
}

// leaver is a hook of the Redis client that ends the goroutine of the first turn.
type leaver struct {
	store string // of its slot
	once  sync.Once
}

func (l *leaver) DialHook(next redis.DialHook) redis.DialHook { return next }
func (l *leaver) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (l *leaver) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); args[0] == "evalsha" && args[3] == l.store {
			l.once.Do(runtime.Goexit)
		}
		return next(ctx, cmd)
	}
}

// What takes turns is stuck: the worker is not alive. A log that blocks, and a handler that
// hangs, are no reason.
func TestAlive(t *testing.T) {
	t.Parallel()
	t.Run("stuck", func(t *testing.T) {
		t.Parallel()
		rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
		w := &wedge{reached: make(chan struct{}), free: make(chan struct{})}
		c := newConsumer(t, rdb, Config{Observers: []message.Observer{w}})
		t.Cleanup(func() { close(w.free) }) // before it is closed
		c.stuckAfter = 100 * time.Millisecond
		must.Do(t, c.Alive())
		must.Do(t, c.Listen(topic, newNotes().done(), ListenOptions{}))
		start(t, c)
		must.Do(t, c.Alive())
		newSender(t, rdb, topic).send(t, "m")
		await.Signal(t, "the observer is called", w.reached)
		await.True(t, "it is not alive", func() bool { return c.Alive() != nil })
		if err := c.Alive(); !strings.Contains(err.Error(), "stuck") {
			t.Error(err)
		}
	})
	t.Run("ended", func(t *testing.T) {
		t.Parallel()
		rdb, topic := servertest.SharedRedis(t).Client(t), topicOf(t, message.KindPriority, 1)
		rdb.AddHook(&leaver{store: keysOf(topic, 0).Store})
		c := newConsumer(t, rdb, Config{})
		must.Do(t, c.Listen(topic, newNotes().done(), ListenOptions{}))
		start(t, c)
		newSender(t, shared(t), topic).send(t, "m")
		await.True(t, "it is not alive", func() bool { return c.Alive() != nil })
		if err := c.Alive(); !strings.Contains(err.Error(), "ended") {
			t.Error(err)
		}
		x := asSlot(c.topics[0].scheduled.Status()[0].Slot)
		x.Facts.Failures++ // or the slot is never left
		x.Repeat(x.Facts, time.Now())
	})
	t.Run("not stuck", func(t *testing.T) {
		t.Parallel()
		rdb, topic := shared(t), topicOf(t, message.KindPriority, 2)
		log, logged := blockedLog(t)
		begun, goOn := make(chan struct{}, 100), make(chan struct{})
		c := newConsumer(t, rdb, Config{Logger: log, SafetyLook: 20 * time.Millisecond, Concurrency: 1})
		t.Cleanup(func() { close(goOn) })
		c.stuckAfter = 3 * time.Second
		must.Do(t, c.Listen(topic, ListenerFunc(func(context.Context, *Delivery) error {
			begun <- struct{}{}
			<-goOn
			return nil
		}), ListenOptions{Timeout: time.Millisecond}))
		start(t, c)
		close(logged.shut)
		newSender(t, rdb, topic).send(t, numbered("m", 20)...)
		await.Signal(t, "the handler runs", begun)
		for end := time.Now().Add(c.stuckAfter + time.Second); time.Now().Before(end); {
			must.Do(t, c.Alive())
			await.Pass(20 * time.Millisecond)
		}
	})
}

// A worker that may begin no handler, since nothing is heard from ZooKeeper, is not healthy.
func TestHealthWithoutZooKeeper(t *testing.T) {
	t.Parallel()
	how, network := cutFrom(t, 4*time.Second)
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 2)
	c := work(t, rdb, Config{Slots: slots.ZooKeeper(how)}, topic, newNotes().done())
	await.True(t, "it is healthy", func() bool { return c.Health() == nil })
	network.Freeze()
	await.True(t, "it is not healthy", func() bool { return c.Health() != nil })
	wantHealth(t, c, "ZooKeeper")
	must.Do(t, c.Alive())
	network.Thaw()
	await.True(t, "it is healthy", func() bool { return c.Health() == nil })
}

// A key of a wrong type keeps the messages of its slot from being handled. The log and Health name it, whether a turn
// meets it or the look at notes; nothing is said of handlers, of which none has run, and no attempt is spent.
func TestKeyOfAWrongType(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for name, keyOf := range map[string]func(message.Topic) string{
		"notes":   func(x message.Topic) string { return protocol.NoteKey(x.Name, 0) },
		"retries": func(x message.Topic) string { return keysOf(x, 0).Retry },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := topicOf(t, message.KindPriority, 1)
			topic.Notes = true
			newSender(t, rdb, topic).send(t, "m")
			key := keyOf(topic)
			must.Do(t, rdb.Del(ctx, key).Err())
			must.Do(t, rdb.Set(ctx, key, "of another program", 0).Err())
			core, logs := observer.New(zap.InfoLevel)
			attempts := make(chan int, 10)
			c := work(t, rdb, Config{Logger: zap.New(core), Timeout: 100 * time.Millisecond}, topic, func(_ context.Context, d *Delivery) error {
				attempts <- d.Attempt
				return nil
			})
			await.True(t, "Health names the key", func() bool {
				err := c.Health()
				return err != nil && strings.Contains(err.Error(), key) && strings.Contains(err.Error(), topic.Name)
			})
			named := func() (n int) {
				for _, e := range logs.All() {
					if x, _ := e.ContextMap()["error"].(string); strings.Contains(x, key) {
						n++
					}
				}
				return n
			}
			await.True(t, "the log names it again", func() bool { return named() >= 2 })
			if lines := logs.FilterMessageSnippet("handler").All(); len(lines) > 0 { // none has run yet
				t.Errorf("%d lines about handlers: %v", len(lines), lines)
			}
			must.Do(t, rdb.Del(ctx, key).Err())
			if n := await.Signal(t, "the message", attempts); n != 1 {
				t.Errorf("delivery %d", n)
			}
			await.True(t, "the worker is healthy again", func() bool { return c.Health() == nil })
		})
	}
}
