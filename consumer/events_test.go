package consumer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// ledger is an observer that keeps what it is shown, and checks that what is taken ends
// once, and nothing else does.
type ledger struct {
	t       testing.TB
	mu      sync.Mutex
	changed chan struct{}
	lines   []string // what, content, attempt
	items   []message.Item
	ends    map[message.What]int
	open    map[string]bool // fence and content of those taken
	held    map[string]bool // slots gained
}

func newLedger(t testing.TB) *ledger {
	return &ledger{t: t, changed: make(chan struct{}), ends: map[message.What]int{}, open: map[string]bool{}, held: map[string]bool{}}
}

func (l *ledger) Observe(e *message.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.At.IsZero() || e.Worker == "" || e.Topic.Name == "" || e.Topic.Slots == 0 {
		l.t.Errorf("event %+v", e)
	}
	for _, x := range e.Items {
		key := fmt.Sprint(e.Worker, e.Topic.Name, e.Slot, " ", e.Fence, x.Content)
		switch slot := fmt.Sprint(e.Topic.Name, e.Slot); x.What {
		case message.Probing:
			continue
		case message.Moved:
			if gained := x.Reason == "gained"; gained == l.held[slot] {
				l.t.Errorf("slot %s is %s again", slot, x.Reason)
			}
			l.held[slot] = x.Reason == "gained"
			continue
		case message.Taken:
			if l.open[key] || e.Fence == 0 || e.Took <= 0 {
				l.t.Errorf("taken with fence %d, again: %v: %+v", e.Fence, l.open[key], x)
			}
			l.open[key] = true
		default:
			if !l.open[key] {
				l.t.Errorf("not taken: %+v", x)
			}
			delete(l.open, key)
		}
		l.ends[x.What]++
		l.items = append(l.items, x)
		l.lines = append(l.lines, fmt.Sprintf("%s %s %d", x.What, x.Content, x.Attempt))
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// await returns when ok, which is called with l locked, is true.
func (l *ledger) await(what string, ok func() bool) {
	l.t.Helper()
	timer := time.NewTimer(await.Patience)
	defer timer.Stop()
	for {
		l.mu.Lock()
		fine, changed, lines := ok(), l.changed, len(l.lines)
		l.mu.Unlock()
		if fine {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			l.t.Fatalf("%s: not so after %v, and %d lines", what, await.Patience, lines)
		}
	}
}

// want fails unless these and no other lines come.
func (l *ledger) want(lines ...string) {
	l.t.Helper()
	l.await(fmt.Sprintf("%q is reported", lines), func() bool { return len(l.lines) >= len(lines) })
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.lines, lines) {
		l.t.Errorf("events %q, want %q", l.lines, lines)
	}
	l.lines, l.items = nil, nil
}

// last is the last item.
func (l *ledger) last() message.Item {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items[len(l.items)-1]
}

// closed fails if something that was taken has not ended.
func (l *ledger) closed() {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) > 0 {
		l.t.Errorf("%d messages were taken and have no end", len(l.open))
	}
}

// Whatever a listener does, the event says what Redis made of it, after the answer.
func TestEventsOfEachResult(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	l := newLedger(t)
	oops := errors.New("oops")
	var snoozes atomic.Int64
	c := work(t, rdb, Config{Observers: []message.Observer{l}, Backoff: verdict.Schedule(time.Millisecond), MaxAttempts: 3}, topic, func(_ context.Context, d *Delivery) error {
		await.Pass(time.Millisecond)
		if last := d.Attempt == 3; d.Last != last {
			t.Errorf("attempt %d is the last: %v", d.Attempt, d.Last)
		}
		switch {
		case d.Content == "dead":
			return verdict.DeadError(oops)
		case d.Content == "poison", d.Content == "fails" && d.Attempt == 1:
			return oops
		case d.Content == "later" && snoozes.Add(1) < 3:
			return verdict.LaterError(time.Millisecond)
		case d.Content == "goes":
			runtime.Goexit()
		}
		return nil
	})
	s := newSender(t, rdb, topic)
	send := func(content string) { s.send(t, content) }
	send("good")
	l.want("taken good 1", "done good 1")

	send("fails")
	l.await("it fails", func() bool { return len(l.items) > 1 })
	if x := l.items[1]; x.In != time.Millisecond || x.Reason != "oops" || !errors.Is(x.Err, oops) || x.Took < time.Millisecond || x.Score != 100 {
		t.Errorf("failed: %+v", x)
	}
	l.await("the retry is done", func() bool { return l.ends[message.Done] == 2 })
	if x := l.last(); x.Score != 100 || x.Took < time.Millisecond || x.Reason != "" {
		t.Errorf("the retry: %+v", x)
	}
	l.want("taken fails 1", "failed fails 1", "taken fails 2", "done fails 2")

	send("dead")
	l.await("it is dead", func() bool { return l.ends[message.Died] == 1 })
	if x := l.last(); x.Reason != "oops" || !errors.Is(x.Err, verdict.ErrDead) || x.In != 0 {
		t.Errorf("dead: %+v", x)
	}
	if rdb.ZCard(ctx, keysOf(topic, 0).Dead).Val() != 1 {
		t.Error("reported as dead before it is")
	}
	l.want("taken dead 1", "died dead 1")

	send("poison")
	l.want("taken poison 1", "failed poison 1", "taken poison 2", "failed poison 2", "taken poison 3", "died poison 3")
	send("later")
	l.await("it is put back", func() bool { return len(l.items) > 1 })
	if x := l.items[1]; x.In != time.Millisecond || x.Took < time.Millisecond || x.Reason == "" {
		t.Errorf("snoozed: %+v", x)
	}
	l.want("taken later 1", "snoozed later 1", "taken later 1", "snoozed later 1", "taken later 1", "done later 1")
	send("goes")
	l.await("it fails", func() bool { return l.ends[message.Failed] == 4 })
	if x := l.items[1]; !errors.Is(x.Err, verdict.ErrPanic) {
		t.Errorf("a handler that ended its goroutine: %+v", x)
	}
	l.await("it is dead", func() bool { return l.ends[message.Died] == 3 })
	must.Do(t, closeIn(c, await.Patience))
	l.closed()
	if held, moved := l.held[topic.Name+"0"]; held || !moved {
		t.Errorf("the slot was gained and left: %v; it is held: %v", moved, held)
	}
}

// A content that is sent again while it is in flight: the event says what the worker asked for, but
// the old copy is dropped, and nothing of it is left.
func TestEventsOfWhatWasSentAgain(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	l := newLedger(t)
	s := newSender(t, rdb, topic)
	var calls sync.Map
	c := work(t, rdb, Config{Observers: []message.Observer{l}, Backoff: verdict.Schedule(time.Hour)}, topic, func(_ context.Context, d *Delivery) error {
		if _, again := calls.LoadOrStore(d.Content, true); again {
			return nil
		}
		s.send(t, d.Content)
		switch d.Content {
		case "dies":
			return verdict.DeadError(errors.New("oops"))
		case "later":
			return verdict.LaterError(time.Hour)
		}
		return errors.New("oops")
	})
	for content, what := range map[string]message.What{"dies": message.Died, "fails": message.Failed, "later": message.Snoozed} {
		s.send(t, content)
		l.want("taken "+content+" 1", what.String()+" "+content+" 1", "taken "+content+" 1", "done "+content+" 1")
		if k := keysOf(topic, 0); rdb.Exists(ctx, k.Store, k.Retry, k.Dead, k.Prepare).Val() != 0 {
			t.Errorf("%s: the old copy is still there", content)
		}
	}
	must.Do(t, closeIn(c, await.Patience))
	l.closed()
}

// A listener that returns only context.Canceled has failed for the reason for which its
// context ended.
func TestEventNamesTheCause(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	l := newLedger(t)
	cfg := Config{Observers: []message.Observer{l}, Timeout: 50 * time.Millisecond, MaxAttempts: 1}
	c := work(t, rdb, cfg, topic, func(ctx context.Context, d *Delivery) error {
		<-ctx.Done()
		return ctx.Err()
	})
	newSender(t, rdb, topic).send(t, "slow")
	l.await("it is dead", func() bool { return l.ends[message.Died] == 1 })
	if x := l.last(); !errors.Is(x.Err, context.Canceled) || !errors.Is(x.Err, verdict.ErrTimeout) || x.Reason != "timed out after 50ms: context canceled" {
		t.Errorf("%+v", x)
	}
	must.Do(t, closeIn(c, await.Patience))
}

// The last of 17 deliveries: the script has it die, whatever the verdict was.
func TestEventOfTheSeventeenthDelivery(t *testing.T) {
	t.Parallel()
	x := message.Item{Attempt: 17}
	v := verdict.Verdict{Fate: verdict.Failed, Delay: time.Second, Reason: "oops"}
	v.Describe(&x)
	if x.What != message.Died || x.In != 0 || x.Reason != "oops" {
		t.Errorf("%+v", x)
	}
	rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 1)
	topic.Literal = true
	l := newLedger(t)
	work(t, rdb, Config{Observers: []message.Observer{l}}, topic, func(context.Context, *Delivery) error { return errors.New("oops") })
	newSender(t, rdb, topic).send(t, "m")
	var lines []string
	for i := range 17 {
		lines = append(lines, fmt.Sprint("taken m ", i+1), fmt.Sprint("failed m ", i+1))
	}
	lines[33] = "died m 17"
	l.want(lines...)
	if rdb.ZCard(ctx, keysOf(topic, 0).Dead).Val() != 1 {
		t.Error("it is not dead")
	}
}

// A worker whose handler waits in the middle of a batch of three, of which "b" is handled
// next. Each answer that can come to the turn that finishes it says something else.
type settling struct {
	t      *testing.T
	rdb    *redis.Client
	proxy  *servertest.Proxy
	topic  message.Topic
	l      *ledger
	c      *Consumer
	sender sender
	begun  chan string
	goOn   chan struct{}
}

func newSettling(t *testing.T) *settling {
	t.Helper()
	t.Parallel()
	server := servertest.SharedRedis(t)
	x := &settling{
		t: t, rdb: server.Client(t), proxy: servertest.NewProxy(t, server.Addr()), topic: topicOf(t, message.KindPriority, 1),
		l: newLedger(t), begun: make(chan string), goOn: make(chan struct{}),
	}
	x.sender = newSender(t, x.rdb, x.topic)
	x.c = work(t, x.proxy.Client(t, func(o *redis.Options) { o.MaxRetries = -1 }), Config{Observers: []message.Observer{x.l}, Lease: 5 * time.Minute}, x.topic,
		func(_ context.Context, d *Delivery) error {
			x.begun <- d.Content
			<-x.goOn
			return nil
		})
	return x
}

// take has the worker take contents, in their order, and handle the first.
func (x *settling) take(contents ...string) {
	x.t.Helper()
	ms := make([]message.Message, len(contents))
	for i, s := range contents {
		ms[i] = message.Priority{Content: s, Priority: int64(1000 - i)}
	}
	_, err := x.sender.SendBatch(ctx, x.topic, ms)
	must.Do(x.t, err)
	x.begins(contents[0])
}

// begins returns when the handler of a content has begun.
func (x *settling) begins(content string) {
	x.t.Helper()
	if got := await.Signal(x.t, content+" is handled", x.begun); got != content {
		x.t.Fatalf("%s is handled, want %s", got, content)
	}
}

// handle lets the handler that waits return.
func (x *settling) handle() { x.goOn <- struct{}{} }

// takeOver has another worker take the batch over.
func (x *settling) takeOver() (fence int64) {
	a := takeTurn(x.t, x.rdb, &protocol.Turn{Keys: keysOf(x.topic, 0), Priority: true, Worker: "other", DeadHolder: x.c.Worker(), Count: 10, Lease: time.Hour, TakeoverDelay: time.Hour})
	if a.Code != protocol.Number {
		x.t.Fatalf("the take-over is answered %s", a.Code)
	}
	return a.Fence
}

func TestEventsAfterEachAnswer(t *testing.T) {
	t.Parallel()
	t.Run("EMPTY", func(t *testing.T) {
		x := newSettling(t)
		x.take("a", "b")
		x.l.want("taken a 1", "taken b 1")
		x.handle()
		x.begins("b")
		x.handle()
		x.l.want("done a 1", "done b 1")
		if n := x.rdb.Exists(ctx, keysOf(x.topic, 0).Prepare).Val(); n != 0 {
			t.Error("reported before it is finished")
		}
	})
	t.Run("BATCH", func(t *testing.T) {
		x := newSettling(t)
		x.take("a")
		x.sender.send(t, "b")
		x.handle()
		x.begins("b")
		x.l.want("taken a 1", "done a 1", "taken b 1")
		x.handle()
		x.l.want("done b 1")
	})
	t.Run("PAUSED", func(t *testing.T) {
		x := newSettling(t)
		x.take("a")
		x.rdb.HSet(ctx, keysOf(x.topic, 0).Meta, "paused", "1")
		x.sender.send(t, "b")
		x.handle()
		x.l.want("taken a 1", "done a 1")
	})
	t.Run("LEFT", func(t *testing.T) {
		x := newSettling(t)
		x.take("a", "b")
		closing := make(chan error)
		go func() { closing <- closeIn(x.c, await.Patience) }()
		await.True(t, "the slot is to be left", func() bool { return owned(x.c) == 0 })
		x.handle()
		must.Do(t, await.Signal(t, "Close returns", closing))
		x.l.want("taken a 1", "taken b 1", "done a 1", "handed back b 1") // when Close returns, all is reported
		x.l.closed()
	})
	t.Run("NUMBER", func(t *testing.T) {
		x := newSettling(t)
		x.take("a")
		x.takeOver()
		x.handle()
		x.l.want("taken a 1", "overtaken a 1")
	})
	t.Run("BUSY", func(t *testing.T) {
		x := newSettling(t)
		x.take("a")
		fence := x.takeOver()
		x.sender.send(t, "b")
		if a := takeTurn(t, x.rdb, &protocol.Turn{Keys: keysOf(x.topic, 0), Priority: true, Worker: "other", Fence: fence, Count: 10, Lease: time.Hour}); a.Code != protocol.Batch {
			t.Fatal(a.Code)
		}
		x.handle()
		x.l.await("it is reported", func() bool { return len(x.l.lines) == 2 })
		if reason := x.l.last().Reason; !strings.Contains(reason, "taken over before") {
			t.Errorf("reason %q", reason)
		}
		x.l.want("taken a 1", "overtaken a 1")
	})
	t.Run("EMPTY again", func(t *testing.T) { // the reply of the finish was lost
		x := newSettling(t)
		x.take("a")
		lost := x.proxy.LoseNextReply("evalsha", keysOf(x.topic, 0).Store)
		x.handle()
		await.Signal(t, "the reply is lost", lost)
		x.l.want("taken a 1", "done a 1")
	})
	t.Run("BATCH again", func(t *testing.T) { // the reply was lost that took the next batch
		x := newSettling(t)
		x.take("a")
		x.sender.send(t, "b")
		lost := x.proxy.LoseNextReply("evalsha", keysOf(x.topic, 0).Store)
		x.handle()
		await.Signal(t, "the reply is lost", lost)
		x.begins("b")
		x.l.want("taken a 1", "done a 1", "taken b 1")
		x.handle()
		x.l.want("done b 1")
	})
	t.Run("NUMBER after a reply was lost", func(t *testing.T) {
		// It was finished, and the slot left. The worker cannot know.
		x := newSettling(t)
		x.take("a")
		lost := x.proxy.LoseNextReply("evalsha", keysOf(x.topic, 0).Store)
		closing := make(chan error)
		go func() { closing <- closeIn(x.c, await.Patience) }()
		await.True(t, "the slot is to be left", func() bool { return owned(x.c) == 0 })
		x.handle()
		await.Signal(t, "the reply is lost", lost)
		must.Do(t, await.Signal(t, "Close returns", closing))
		if reason := x.l.last().Reason; !strings.Contains(reason, "got lost") {
			t.Errorf("reason %q", reason)
		}
		x.l.want("taken a 1", "overtaken a 1")
	})
	t.Run("BATCH of a Redis that has forgotten", func(t *testing.T) {
		x := newSettling(t)
		x.take("a")
		before := snapshotOf(t, x.rdb, x.topic)
		x.sender.send(t, "b")
		x.handle()
		x.begins("b")
		x.l.want("taken a 1", "done a 1", "taken b 1")
		before.restore(t, x.rdb) // a is in flight again, and b was never sent
		x.handle()
		x.begins("a")
		x.l.await("it is reported", func() bool { return len(x.l.items) == 2 })
		if reason := x.l.items[0].Reason; !strings.Contains(reason, "forgotten") {
			t.Errorf("reason %q", reason)
		}
		x.l.want("overtaken b 1", "taken a 1")
		x.handle()
		x.l.want("done a 1")
	})
	t.Run("NUMBER of a Redis that has forgotten", func(t *testing.T) {
		x := newSettling(t)
		x.take("a")
		x.handle()
		x.l.want("taken a 1", "done a 1")
		before := snapshotOf(t, x.rdb, x.topic)
		x.take("b")
		before.restore(t, x.rdb) // b was never sent
		x.handle()
		x.l.await("it is reported", func() bool { return len(x.l.items) == 2 })
		if reason := x.l.last().Reason; !strings.Contains(reason, "forgotten") {
			t.Errorf("reason %q", reason)
		}
		x.l.want("taken b 1", "overtaken b 1")
	})
}

// Replies get lost, sessions end, workers come and go, and messages fail: all that is
// taken ends once, and the ends add up to what the test sees by itself.
func TestEventsAddUp(t *testing.T) {
	t.Parallel()
	cluster := servertest.SharedCluster(t)
	zks := servertest.SharedZooKeeper(t)
	for name, ways := range map[string]struct {
		rdb redis.UniversalClient
		cfg Config
	}{
		"redis":     {shared(t), Config{Lease: 5 * time.Minute}},
		"cluster":   {cluster.Client(t), Config{Lease: 5 * time.Minute}},
		"zookeeper": {shared(t), Config{Slots: slots.ZooKeeper(sharedBy(t, zks, lasting))}},
		"parallel":  {shared(t), Config{Lease: 5 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := topicOf(t, message.KindPriority, 16)
			n := newNotes()
			var workers []*Consumer
			var ledgers []*ledger
			join := func() {
				cfg := ways.cfg
				cfg.Backoff = verdict.Schedule(time.Millisecond)
				ledgers = append(ledgers, newLedger(t))
				cfg.Observers = []message.Observer{ledgers[len(ledgers)-1]}
				workers = append(workers, work(t, ways.rdb, cfg, topic, n.around(func(_ context.Context, d *Delivery) error {
					await.Pass(100 * time.Microsecond)
					switch {
					case strings.HasSuffix(d.Content, "7") && d.Attempt == 1:
						return errors.New("oops")
					case strings.HasSuffix(d.Content, "13"):
						return verdict.DeadError(nil)
					}
					return nil
				}), ListenOptions{Parallel: name == "parallel"}))
			}
			s := newSender(t, ways.rdb, topic)
			join()
			var contents []string
			fails, deaths := 0, 0
			for round := range 4 {
				these := numbered(fmt.Sprint(round), 200)
				for _, content := range these {
					if strings.HasSuffix(content, "7") {
						fails++
					} else if strings.HasSuffix(content, "13") {
						deaths++
					}
				}
				s.send(t, these...)
				contents = append(contents, these...)
				n.await(t, "some are handled", func() bool { return len(n.attempts) > len(contents)-160 })
				if name == "zookeeper" && round == 1 {
					expire(t, zks, workers[0])
				}
				if round > 0 && name != "zookeeper" {
					must.Do(t, closeIn(workers[0], await.Patience))
					workers = workers[1:]
				}
				join()
			}
			n.awaitAll(t, contents)
			wantEmptyBut := func() bool {
				sum := int64(0)
				for slot := range topic.Slots {
					k := keysOf(topic, slot)
					sum += ways.rdb.ZCard(ctx, k.Store).Val() + ways.rdb.ZCard(ctx, k.Prepare).Val() + ways.rdb.ZCard(ctx, k.Retry).Val()
				}
				return sum == 0
			}
			await.True(t, "all is finished", wantEmptyBut)
			for _, c := range workers {
				must.Do(t, closeIn(c, await.Patience))
			}
			ends := map[message.What]int{}
			for _, l := range ledgers {
				l.closed()
				for what, k := range l.ends {
					ends[what] += k
				}
				for slot, held := range l.held {
					if held {
						t.Errorf("slot %s was gained and not left", slot)
					}
				}
			}
			t.Logf("%v", ends)
			n.mu.Lock()
			defer n.mu.Unlock()
			handled := ends[message.Done] + ends[message.Failed] + ends[message.Died]
			switch over := ends[message.Overtaken]; {
			case over == 0 && (handled != n.total || ends[message.Failed] != fails || ends[message.Died] != deaths):
				t.Errorf("%d deliveries, %d failed and %d died; events say %v", n.total, fails, deaths, ends)
			case ends[message.Done]+ends[message.Died]+over < len(contents) || handled > n.total:
				t.Errorf("%d deliveries of %d messages; events say %v", n.total, len(contents), ends)
			}
		})
	}
}

// An observer that panics kills no taker and no batch.
func TestObserverThatPanics(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 2)
	core, logs := observer.New(zap.ErrorLevel)
	l := newLedger(t)
	panics := message.ObserverFunc(func(*message.Event) { panic("oops") })
	c := work(t, rdb, Config{Observers: []message.Observer{panics, l}, Logger: zap.New(core)}, topic, func(context.Context, *Delivery) error { return nil })
	contents := numbered("m", 50)
	newSender(t, rdb, topic).send(t, contents...)
	l.await("all are done", func() bool { return l.ends[message.Done] == len(contents) })
	must.Do(t, closeIn(c, await.Patience))
	if logs.FilterMessageSnippet("observer panicked").Len() == 0 {
		t.Error("the log says nothing")
	}
}

// An observer may end its goroutine, as t.FailNow does. It kills no taker either.
func TestObserverThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 2)
	core, logs := observer.New(zap.ErrorLevel)
	l := newLedger(t)
	ends := message.ObserverFunc(func(*message.Event) { runtime.Goexit() })
	c := work(t, rdb, Config{Observers: []message.Observer{ends, l, ends}, Logger: zap.New(core)}, topic, func(context.Context, *Delivery) error { return nil })
	s := newSender(t, rdb, topic)
	for i := range 10 { // in batches of their own, each more than takers
		content := fmt.Sprint("m", i)
		s.send(t, content)
		l.await(content+" is done", func() bool { return l.ends[message.Done] == i+1 })
	}
	must.Do(t, c.Alive())
	must.Do(t, closeIn(c, await.Patience))
	l.closed()
	await.True(t, "the log says it", func() bool { return logs.FilterMessageSnippet("observer ended its goroutine").Len() > 0 })
}

// Scores are what a delivery has as its priority or its time.
func TestEventsHaveDueTimes(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 1)
	for _, due := range []bool{true, false} {
		l := newLedger(t)
		c := work(t, rdb, Config{Observers: []message.Observer{l}}, topic, func(context.Context, *Delivery) error { return nil }, ListenOptions{Due: due})
		r, err := newSender(t, rdb, topic).Send(ctx, topic, soon(topic, "m", ""))
		must.Do(t, err)
		l.await("it is done", func() bool { return l.ends[message.Done] == 1 })
		want := int64(0)
		if due {
			want = r.Due.UnixMilli()
		}
		for _, x := range l.items {
			if x.Score != want {
				t.Errorf("score %d, want %d: %+v", x.Score, want, x)
			}
		}
		must.Do(t, closeIn(c, await.Patience))
	}
}

// What a middleware learns of an error is what the worker makes of it.
// Observers cost no memory for each message. (Not in parallel: all allocations are counted.)
func TestObserversCostNoMemoryForEachMessage(t *testing.T) {
	each := map[bool]float64{false: math.MaxFloat64, true: math.MaxFloat64}
	for range 3 { // the least: where the machine is busy, batches become small, and each of them costs memory
		for observed := range each {
			each[observed] = min(each[observed], allocationsForEach(t, observed))
		}
	}
	t.Logf("allocations for each message: %.2f, and %.2f with an observer", each[false], each[true])
	if each[true] > each[false]+0.5 {
		t.Error("observers cost memory for each message")
	}
}

// allocationsForEach is how many allocations a message costs that is handled, perhaps with an observer.
func allocationsForEach(t *testing.T, observed bool) float64 {
	t.Helper()
	const messages = 10_000
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 4)
	newSender(t, rdb, topic).send(t, numbered("m", messages)...)
	var done atomic.Int64
	all := make(chan struct{})
	cfg := Config{}
	seen := 0
	if observed {
		var mu sync.Mutex
		cfg.Observers = []message.Observer{message.ObserverFunc(func(e *message.Event) {
			mu.Lock()
			defer mu.Unlock()
			seen += len(e.Items)
		})}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := work(t, rdb, cfg, topic, func(context.Context, *Delivery) error {
		if done.Add(1) == messages {
			close(all)
		}
		return nil
	})
	await.Signal(t, "all are handled", all)
	must.Do(t, closeIn(c, await.Patience))
	runtime.ReadMemStats(&after)
	if observed && seen < 2*messages {
		t.Errorf("%d items seen, want %d taken and %d done", seen, messages, messages)
	}
	return float64(after.Mallocs-before.Mallocs) / messages
}

// Every message passes here, and nearly all have succeeded.
func TestOutcomeOfWhatSucceededAsksForNoMemory(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { OutcomeOf(ctx, &Delivery{}, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
