package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// Start and Close in every wrong order. What is left over would be noticed by
// the package's check of goroutines.
func TestStartAndCloseInAnyOrder(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 4)
	listener := ListenerFunc(func(context.Context, *Delivery) error { return nil })
	create := func() *Consumer {
		c, err := New(rdb, Config{})
		must.Do(t, err)
		must.Do(t, c.Listen(topic, listener, ListenOptions{}))
		return c
	}
	is := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	for range night.Times(20, 100) {
		c := create() // close before start
		must.Do(t, c.Close(ctx))
		must.Do(t, c.Close(ctx))
		is("start after close", c.Start(ctx), message.ErrClosed)
		is("listen after close", c.Listen(topicOf(t, message.KindPriority, 4), listener, ListenOptions{}), errRunning)

		c = create() // twice each, and at the same time
		start(t, c)
		is("start twice", c.Start(ctx), errRunning)
		is("listen after start", c.Listen(topicOf(t, message.KindPriority, 4), listener, ListenOptions{}), errRunning)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { must.Do(t, c.Close(ctx)) })
		}
		both.Wait()
		is("start after close", c.Start(ctx), message.ErrClosed)

		c = create() // at the same time
		both.Go(func() {
			if err := c.Start(ctx); err != nil {
				is("start beside close", err, message.ErrClosed)
			}
		})
		both.Go(func() { must.Do(t, c.Close(ctx)) })
		both.Wait()
		must.Do(t, c.Close(ctx))
	}
	if n := rdb.ZCard(ctx, protocol.WorkersKey(topic.Name)).Val(); n != 0 {
		t.Errorf("%d workers are left in the list", n)
	}
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 4)
	l := ListenerFunc(func(context.Context, *Delivery) error { return nil })
	says := func(err error, text string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
	_, err := New(nil, Config{})
	says(err, "Redis client is nil")
	c := newConsumer(t, rdb, Config{})
	says(c.Start(ctx), "no topic has a listener")
	says(c.Listen(topic, nil, ListenOptions{}), "listener is nil")
	says(c.Listen(topic, ListenerFunc(nil), ListenOptions{}), "listener is nil")
	says(c.Listen(message.Topic{Name: "a{b}", Kind: message.KindPriority}, l, ListenOptions{}), "Name")
	says(c.Listen(message.Topic{Name: "a"}, l, ListenOptions{}), "Kind")
	must.Do(t, c.Listen(topic, l, ListenOptions{}))
	says(c.Listen(topic, l, ListenOptions{}), "has a listener already")
	other := topic
	other.Slots = 8
	says(c.Listen(other, l, ListenOptions{}), "has a listener already")
	says(c.Start(nil), "ctx is nil") //nolint:staticcheck // on purpose
	start(t, c)
	says(c.Close(nil), "ctx is nil") //nolint:staticcheck // on purpose
	for field, cfg := range map[string]Config{
		"Config.Worker":      {Worker: "two words"},
		"Config.Concurrency": {Concurrency: -1},
		"Config.Timeout":     {Timeout: -1},
		"Config.Lease":       {Lease: 999 * time.Millisecond},
		"Config.SafetyLook":  {SafetyLook: time.Millisecond},
		"Config.Slog":        {Logger: zap.NewNop(), Slog: slog.Default()},
		"Config.MaxAttempts": {MaxAttempts: 18},
		"Namespace":          {Namespace: "a{b}"},

		"Config.BatchMiddleware": {BatchMiddleware: []BatchMiddleware{nil}},
	} {
		_, err := New(rdb, cfg)
		wantInvalid(t, err, field)
	}
	fresh := newConsumer(t, rdb, Config{})
	for field, o := range map[string]ListenOptions{
		"ListenOptions.Concurrency": {Concurrency: -1},
		"ListenOptions.Timeout":     {Timeout: time.Microsecond},
		"ListenOptions.SafetyLook":  {SafetyLook: -1},
		"ListenOptions.MaxAttempts": {MaxAttempts: -1},
		"ListenOptions.MaxLate":     {MaxLate: time.Minute}, // its messages have priorities
		"ListenOptions.Expired":     {Expired: ExpiredDrop}, // without MaxLate
		"ListenOptions.Flow.Min":    {Flow: Flow{Min: -1}},
		"ListenOptions.Flow.Max":    {Flow: Flow{Min: 9, Max: 8}},
	} {
		wantInvalid(t, fresh.Listen(topic, l, o), field)
	}
	for _, flow := range []Flow{{Min: 5}, {Max: -1}, {Max: 5}} {
		wantInvalid(t, fresh.Listen(topic, l, ListenOptions{Concurrency: 4, Flow: flow}), "Flow."+map[bool]string{true: "Min", false: "Max"}[flow.Min > 0])
	}
	timed := topicOf(t, message.KindFixedTime, 4)
	wantInvalid(t, fresh.Listen(timed, l, ListenOptions{MaxLate: -1}), "ListenOptions.MaxLate")
	wantInvalid(t, fresh.Listen(timed, l, ListenOptions{MaxLate: time.Minute, Expired: 7}), "ListenOptions.Expired")
	together := BatchFunc(func(context.Context, *Batch) error { return nil })
	for field, o := range map[string]BatchOptions{
		"BatchOptions.Parallel":    {ListenOptions: ListenOptions{Parallel: true}},
		"BatchOptions.Most":        {Most: 257},
		"BatchOptions.Gather":      {Gather: time.Minute + 1},
		"BatchOptions.SameDue":     {SameDue: time.Second}, // its messages have priorities
		"ListenOptions.SafetyLook": {ListenOptions: ListenOptions{SafetyLook: -1}},
	} {
		wantInvalid(t, fresh.ListenBatch(topic, together, o), field)
	}
	late := BatchOptions{Gather: time.Second, ListenOptions: ListenOptions{MaxLate: time.Second}}
	wantInvalid(t, fresh.ListenBatch(timed, together, late), "BatchOptions.MaxLate")
	late.MaxLate++ // more than Gather
	must.Do(t, fresh.ListenBatch(timed, together, late))
	says(fresh.ListenBatch(topic, nil, BatchOptions{}), "listener is nil")
	says(fresh.ListenBatch(topic, BatchFunc(nil), BatchOptions{}), "listener is nil")
	must.Do(t, fresh.ListenBatch(topic, together, BatchOptions{}))
	says(fresh.Listen(topic, l, ListenOptions{}), "has a listener already")
	named := newConsumer(t, rdb, Config{Worker: "mail-7"})
	if id := named.Worker(); !strings.HasPrefix(id, "mail-7-") || id == newConsumer(t, rdb, Config{Worker: "mail-7"}).Worker() {
		t.Errorf("worker %s", id)
	}
}

func wantInvalid(t testing.TB, err error, field string) {
	t.Helper()
	var invalid *message.InvalidError
	if !errors.As(err, &invalid) || !strings.HasSuffix(invalid.Field, field) {
		t.Errorf("got error %v, want an InvalidError about %s", err, field)
	}
}

// An unreachable Redis is an error of Start, and Start works when it is back.
func TestStartWithoutRedis(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb := server.Client(t, func(o *redis.Options) { o.DialerRetries, o.MaxRetries = 1, -1 })
	topic, n := topicOf(t, message.KindPriority, 4), newNotes()
	c := newConsumer(t, rdb, Config{})
	must.Do(t, c.Listen(topic, n.done(), ListenOptions{}))
	server.Kill()
	for range 3 {
		if err := c.Start(ctx); err == nil || !strings.Contains(err.Error(), "Redis does not answer at "+server.Addr()+": connection refused") || errors.Is(err, errRunning) {
			t.Errorf("start: %v", err)
		}
	}
	server.Restart(t)
	await.True(t, "it starts", func() bool { return c.Start(ctx) == nil })
	newSender(t, server.Client(t), topic).send(t, "x")
	n.awaitAll(t, []string{"x"})
}

// A topic that is something else to others is refused by Start; and when its
// definition changes later, it is worked at no more.
func TestConflictingDefinitions(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 4)
	newSender(t, rdb, topic).send(t, "x")
	for field, other := range map[string]message.Topic{
		"Kind":    {Name: topic.Name, Kind: message.KindFixedTime, Slots: 4},
		"Slots":   {Name: topic.Name, Kind: message.KindPriority, Slots: 8},
		"Literal": {Name: topic.Name, Kind: message.KindPriority, Slots: 4, Literal: true},
	} {
		c := newConsumer(t, rdb, Config{})
		must.Do(t, c.Listen(other, newNotes().done(), ListenOptions{}))
		if err := c.Start(ctx); !errors.Is(err, message.ErrTopicConflict) || !strings.Contains(err.Error(), field) {
			t.Errorf("start: %v, want a conflict about %s", err, field)
		}
	}
	zoo := topicOf(t, message.KindPriority, 4)
	_, err := definition.Agree(ctx, protocol.New(rdb), zoo.Name, zoo, definition.Sharing{Way: definition.SharingZooKeeper})
	must.Do(t, err)
	c := newConsumer(t, rdb, Config{})
	must.Do(t, c.Listen(zoo, newNotes().done(), ListenOptions{}))
	if err := c.Start(ctx); !errors.Is(err, message.ErrTopicConflict) || !strings.Contains(err.Error(), "sharing") {
		t.Errorf("start: %v, want a conflict about sharing", err)
	}
}

// A worker that leaves the number of slots open has the one of the definition, and
// fills in how they are shared like any other; its deliveries tell the number.
func TestSlotsLeftOpen(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 8)
	contents := fill(t, newSender(t, rdb, topic), 5)
	open := topic
	open.Slots = 0
	n, c := newNotes(), newConsumer(t, rdb, Config{})
	must.Do(t, c.Listen(open, n.around(func(_ context.Context, d *Delivery) error {
		if d.Topic.Slots != 8 || !strings.HasPrefix(d.Content, strconv.Itoa(d.Slot)+"/") {
			t.Errorf("%s came from slot %d of %d", d.Content, d.Slot, d.Topic.Slots)
		}
		return nil
	}), ListenOptions{}))
	start(t, c)
	n.awaitAll(t, contents)
	if way := rdb.HGet(ctx, protocol.DefinitionKey(topic.Name), "sharing").Val(); way != definition.SharingRedis {
		t.Errorf("sharing %q, want %q", way, definition.SharingRedis)
	}
}

// Close whose context is over cancels handlers with ErrClosing. Their errors
// spend no attempt and no priority; nil is still done.
func TestCloseCancelsHandlers(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for _, kind := range kinds {
		for _, parallel := range []bool{false, true} {
			topic := topicOf(t, kind, 2)
			contents := fill(t, newSender(t, rdb, topic), 5)
			begun := make(chan string, len(contents))
			c, err := New(rdb, Config{SafetyLook: time.Hour})
			must.Do(t, err)
			must.Do(t, c.Listen(topic, ListenerFunc(func(ctx context.Context, d *Delivery) error {
				begun <- d.Content
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), verdict.ErrClosing) {
					t.Errorf("cause %v", context.Cause(ctx))
				}
				if strings.HasSuffix(d.Content, "/0") {
					return nil
				}
				return fmt.Errorf("work: %w", ctx.Err())
			}), ListenOptions{Parallel: parallel}))
			start(t, c)
			started := map[string]bool{<-begun: true, <-begun: true}
			c.grace = await.Patience
			over, cancel := context.WithCancel(ctx)
			cancel()
			must.Do(t, c.Close(over))
			for len(begun) > 0 {
				started[<-begun] = true
			}
			var left []string
			for _, c := range contents {
				if !started[c] || !strings.HasSuffix(c, "/0") {
					left = append(left, c)
				}
			}
			if kind == message.KindPriority {
				for _, c := range left {
					slot := int(c[0] - '0')
					if score := rdb.ZScore(ctx, keysOf(topic, slot).Store, c).Val(); score != 100 {
						t.Errorf("%s has priority %v", c, score)
					}
				}
			}
			n := newNotes()
			work(t, rdb, Config{}, topic, n.done())
			n.awaitAll(t, left)
			n.wantOnce(t, left) // each as its first attempt
		}
	}
}

// Close lets handlers finish while its context lasts.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 2)
	n := newNotes()
	release := make(chan struct{})
	c := work(t, rdb, Config{}, topic, n.around(func(ctx context.Context, d *Delivery) error {
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}))
	contents := fill(t, newSender(t, rdb, topic), 1)
	n.await(t, "both are handled", func() bool { return n.running == 2 })
	closed := make(chan error, 1)
	go func() { closed <- c.Close(ctx) }()
	await.True(t, "the worker has left the list", func() bool { return rdb.ZCard(ctx, protocol.WorkersKey(topic.Name)).Val() == 0 })
	close(release)
	must.Do(t, await.Signal(t, "Close returns", closed))
	n.wantOnce(t, contents)
	wantEmpty(t, rdb, topic)
}

// Close while Redis does not answer ends, says so, and leaves nothing behind.
func TestCloseWithoutRedis(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	topic := topicOf(t, message.KindPriority, 2)
	c, err := New(server.Client(t, func(o *redis.Options) { o.DialerRetries, o.MaxRetries = 1, -1 }), Config{})
	must.Do(t, err)
	must.Do(t, c.Listen(topic, newNotes().done(), ListenOptions{}))
	start(t, c)
	must.Do(t, c.settle(ctx))
	newSender(t, server.Client(t), topic).send(t, numbered("m", 10)...)
	must.Do(t, c.settle(ctx))
	server.Kill()
	if err := closeIn(c, 100*time.Millisecond); err == nil || !strings.Contains(err.Error(), "Redis did not answer about") {
		t.Errorf("close: %v", err)
	}
}

// Everything works on one processor.
func TestOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	random := sharetest.Rand(t)
	rdb := shared(t)
	all := newNotes()
	c := newConsumer(t, rdb, Config{Concurrency: 6, Backoff: verdict.Schedule(time.Millisecond)})
	senders := []sender{}
	for i, kind := range append(kinds, message.KindPriority) {
		topic := topicOf(t, kind, 4)
		senders = append(senders, newSender(t, rdb, topic))
		must.Do(t, c.Listen(topic, ListenerFunc(func(ctx context.Context, d *Delivery) error {
			all.begin(&Delivery{Content: d.Content, Attempt: d.Attempt, Slot: 10*i + d.Slot})
			defer all.end(&Delivery{Slot: 10*i + d.Slot})
			switch {
			case d.Attempt > 1:
				return nil
			case strings.HasSuffix(d.Content, "7"):
				return errors.New("once")
			case strings.HasSuffix(d.Content, "13"):
				panic("once")
			}
			return nil
		}), ListenOptions{Parallel: i == 3}))
	}
	start(t, c)
	var contents []string
	for round := range 40 {
		i := random.IntN(len(senders))
		these := numbered(fmt.Sprintf("%d-%d", i, round), random.IntN(40)+1)
		contents = append(contents, these...)
		senders[i].send(t, these...)
	}
	all.awaitAll(t, contents)
	all.await(t, "what failed is handled again", func() bool {
		for _, c := range contents {
			if (strings.HasSuffix(c, "7") || strings.HasSuffix(c, "13")) && !slices.Equal(all.attempts[c], []int{1, 2}) {
				return false
			}
		}
		return all.running == 0
	})
	must.Do(t, closeIn(c, await.Patience))
	for _, s := range senders {
		wantEmpty(t, rdb, s.topic)
	}
}
