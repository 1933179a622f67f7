package producer

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// seen keeps what an observer was shown.
type seen struct {
	mu     sync.Mutex
	events []message.Event
}

func (s *seen) Observe(e *message.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := *e
	kept.Items = slices.Clone(e.Items)
	s.events = append(s.events, kept)
}

// lines returns an event as text, without times, and forgets it.
func (s *seen) lines() (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		for _, x := range e.Items {
			lines = append(lines, fmt.Sprintf("%s %s %d", x.What, x.Content, x.Score))
		}
		if e.Merged > 0 {
			lines = append(lines, fmt.Sprintf("%d merged", e.Merged))
		}
	}
	s.events = nil
	return lines
}

func (s *seen) want(t *testing.T, lines ...string) {
	t.Helper()
	if got := s.lines(); !slices.Equal(got, lines) {
		t.Errorf("events: %q, want %q", got, lines)
	}
}

// Many callers send the same few contents. What the events say is what the stores hold:
// each send is in one event, and what is not stored has merged.
func TestEventsCountWhatMerges(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 2, 0)
	for name, rdb := range map[string]redis.UniversalClient{"redis": servertest.SharedRedis(t).Client(t), "cluster": cluster.Client(t)} {
		for form, cfg := range map[string]Config{"plain": {}, "script": {MaxWaiting: 10_000}, "exact": {ExactReceipts: true}} {
			for _, kind := range []message.Kind{message.KindRangeMerge, message.KindPriority, message.KindFixedTime} {
				t.Run(name+"/"+form+"/"+kind.String(), func(t *testing.T) { countMerged(t, rdb, cfg, kind) })
			}
		}
	}
}

func countMerged(t *testing.T, rdb redis.UniversalClient, cfg Config, kind message.Kind) {
	const callers, each, contents = 8, 300, 97
	events := &seen{}
	cfg.Observers, cfg.Namespace = []message.Observer{events}, "shop"
	p, topic := newProducer(t, rdb, cfg), topicOf(t, kind)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			ms := make([]message.Message, each)
			for i := range ms {
				content := fmt.Sprint("price ", (caller+i)%contents)
				switch kind {
				case message.KindRangeMerge:
					ms[i] = message.RangeMerge{Content: content, Range: time.Hour}
				case message.KindPriority:
					ms[i] = message.Priority{Content: content, Priority: 17}
				default:
					ms[i] = message.FixedTime{Content: content, In: time.Hour}
				}
			}
			if _, err := p.SendBatch(ctx, topic, ms); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	stored := map[string]float64{}
	for slot := range topic.Slots {
		for _, z := range rdb.ZRangeWithScores(ctx, protocol.StoreKey("shop:"+topic.Name, slot), 0, -1).Val() {
			stored[z.Member.(string)] = z.Score
		}
	}
	sent, merged, mergedItems := 0, 0, 0
	last := map[string]int64{} // in the order of the slot
	for _, e := range events.events {
		if e.Topic.Name != "shop:"+topic.Name || e.Topic.Slots != topic.Slots || e.At.IsZero() || e.Took <= 0 || e.Fence != 0 || e.Worker != "" {
			t.Errorf("event %+v", e)
		}
		merged += e.Merged
		for _, x := range e.Items {
			sent++
			switch {
			case x.What == message.Merged:
				mergedItems++
			case x.What != message.Sent || x.Err != nil:
				t.Errorf("item %+v", x)
			}
			if slots.Of(x.Content, topic.Slots) != e.Slot {
				t.Errorf("%s is not of slot %d", x.Content, e.Slot)
			}
			if x.Score != 0 {
				last[x.Content] = x.Score
			}
		}
	}
	if len(stored) != contents || sent != callers*each || merged != sent-len(stored) {
		t.Errorf("%d sends seen of %d, %d merged; %d are stored", sent, callers*each, merged, len(stored))
	}
	if cfg.ExactReceipts && mergedItems != merged || mergedItems > merged {
		t.Errorf("%d items merged, and %d by the sum", mergedItems, merged)
	}
	for content, score := range last {
		if float64(score) != stored[content] {
			t.Errorf("%s: score %d, and stored is %.0f", content, score, stored[content])
		}
	}
	if !kind.FirstWins() && len(last) != contents || cfg.ExactReceipts && len(last) != contents {
		t.Errorf("scores of %v only", slices.Collect(maps.Keys(last)))
	}
}

// The error of a send is in its event. What has not been written is in none: a message that
// is refused before, and one that its caller has withdrawn.
func TestEventsOfSendsThatFail(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	events := &seen{}
	p, topic := newProducer(t, proxy.Client(t), Config{MaxWaiting: 2, Observers: []message.Observer{events}}), topicOf(t, message.KindPriority)
	topic.Slots = 1
	of := func(content string) message.Message { return message.Priority{Content: content, Priority: 17} }
	if _, err := p.Send(ctx, topic, message.Priority{Content: "x", Priority: 1}); !errors.Is(err, message.ErrInvalid) {
		t.Error(err)
	}
	events.want(t)

	_, err := p.SendBatch(ctx, topic, []message.Message{of("a"), of("b"), of("a"), of("c")})
	if !errors.Is(err, ErrQueueFull) {
		t.Error(err)
	}
	if err := events.events[0].Items[3].Err; !errors.Is(err, ErrQueueFull) || errors.Is(err, ErrUncertain) || events.events[0].Items[3].Reason != err.Error() {
		t.Errorf("the event says %v", err)
	}
	events.want(t, "sent a 17", "sent b 17", "sent a 17", "refused c 0", "1 merged")

	// A reply gets lost, and the second try merges with the first.
	server.Client(t).Del(ctx, protocol.StoreKey(topic.Name, 0))
	p.idle.Wait()
	lost := proxy.LoseNextReply("evalsha")
	mustSend(t, p, topic, of("d"))
	<-lost
	events.want(t, "merged d 17", "1 merged")

	// One is written and its caller gives up; another one is withdrawn behind it.
	p.idle.Wait()
	p.retryFor = 50 * time.Millisecond
	written := make(chan struct{})
	var once sync.Once
	proxy.OnRequest(func([]byte) bool {
		once.Do(func() { close(written) })
		return true
	})
	proxy.DropReplies(true)
	short, cancel := context.WithCancel(ctx)
	sends := make(chan error, 2)
	send := func(content string) {
		_, err := p.Send(short, topic, of(content))
		sends <- err
	}
	go send("e")
	<-written
	go send("withdrawn")
	await.True(t, "the next flight is open", p.queued)
	cancel()
	<-sends
	<-sends
	proxy.Cut()
	p.idle.Wait()
	if err := events.events[0].Items[0].Err; !errors.Is(err, ErrUncertain) {
		t.Errorf("the event says %v", err)
	}
	events.want(t, "refused e 0")
}

// With too few replicas the send has failed, and so its merge is not counted.
func TestEventsOfSendsThatAreNotReplicated(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	events := &seen{}
	topic := topicOf(t, message.KindPriority)
	mustSend(t, newProducer(t, rdb, Config{}), topic, message.Priority{Content: "a", Priority: 17})
	p := newProducer(t, rdb, Config{Observers: []message.Observer{events}, Durability: Durability{Replicas: 1, Timeout: time.Millisecond}})
	if _, err := p.Send(ctx, topic, message.Priority{Content: "a", Priority: 17}); !errors.Is(err, ErrNotReplicated) {
		t.Error(err)
	}
	if err := events.events[0].Items[0].Err; !errors.Is(err, ErrNotReplicated) {
		t.Errorf("the event says %v", err)
	}
	events.want(t, "refused a 0")
}

// An observer that panics costs a line in the log, and nothing else.
func TestObserverThatPanics(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	events := &seen{}
	panics := message.ObserverFunc(func(e *message.Event) { panic("oops at " + e.Items[0].Content) })
	p := newProducer(t, servertest.SharedRedis(t).Client(t), Config{Observers: []message.Observer{panics, events}, Logger: zap.New(core)})
	topic := topicOf(t, message.KindPriority)
	for range 3 {
		mustSend(t, p, topic, message.Priority{Content: "secret", Priority: 18})
	}
	events.want(t, "sent secret 18", "merged secret 18", "1 merged", "merged secret 18", "1 merged")
	await.True(t, "a line in the log", func() bool { return logs.Len() > 0 }) // it is written beside the sends
	line := logs.All()[0]
	if line.Level != zap.ErrorLevel || !strings.Contains(line.Message, "observer") || line.ContextMap()["panic"] != "oops at …" {
		t.Errorf("the log says %+v", line)
	}
}

// An observer may end its goroutine, as t.FailNow does. The sends go on.
func TestObserverThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.ErrorLevel)
	events := &seen{}
	ends := message.ObserverFunc(func(*message.Event) { runtime.Goexit() })
	p := newProducer(t, servertest.SharedRedis(t).Client(t), Config{Observers: []message.Observer{ends, events, ends}, Logger: zap.New(core)})
	topic := topicOf(t, message.KindPriority)
	ctx := await.Context(t)
	for range 3 {
		if _, err := p.Send(ctx, topic, message.Priority{Content: "a", Priority: 18}); err != nil {
			t.Fatal(err)
		}
	}
	events.want(t, "sent a 18", "merged a 18", "1 merged", "merged a 18", "1 merged")
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
	await.True(t, "a line in the log", func() bool { // it is written beside the sends
		return logs.FilterMessageSnippet("observer ended its goroutine").Len() > 0
	})
}

// A Send that has returned was reported, however slow the observer is.
func TestEventsComeBeforeSendReturns(t *testing.T) {
	t.Parallel()
	var reported atomic.Int32
	goOn := make(chan struct{})
	slow := message.ObserverFunc(func(*message.Event) {
		<-goOn
		reported.Add(1)
	})
	p, topic := newProducer(t, servertest.SharedRedis(t).Client(t), Config{Observers: []message.Observer{slow}}), topicOf(t, message.KindPriority)
	for i := range 10 {
		returned := make(chan int32, 1)
		go func() {
			if _, err := p.Send(ctx, topic, message.Priority{Content: "a", Priority: 17}); err != nil {
				t.Error(err)
			}
			returned <- reported.Load()
		}()
		goOn <- struct{}{}
		if n := await.Signal(t, "a send", returned); int(n) != i+1 {
			t.Fatalf("%d sends have returned, and %d were reported", i+1, n)
		}
	}
}

// Events and their items are used again: an observer costs no allocation for each message.
func TestEventsAreUsedAgain(t *testing.T) {
	var items atomic.Int64
	count := message.ObserverFunc(func(e *message.Event) { items.Add(int64(len(e.Items))) })
	p := newProducer(t, servertest.SharedRedis(t).Client(t), Config{Observers: []message.Observer{count}})
	topic := topicOf(t, message.KindPriority)
	ms := make([]message.Message, 1000)
	for i := range ms {
		ms[i] = message.Priority{Content: fmt.Sprint(i), Priority: 17}
	}
	if _, err := p.SendBatch(ctx, topic, ms); err != nil {
		t.Fatal(err)
	}
	to, err := p.writers.of(ctx, (*p.topics.known.Load())[topic], 0)
	if err != nil {
		t.Fatal(err)
	}
	p.idle.Wait()
	f, waits := newFlight(), p.waits(ctx)
	for i := range ms {
		o, err := p.open(&waits, (*p.topics.known.Load())[topic], ms[i])
		if err != nil {
			t.Fatal(err)
		}
		o.addTo(f, (*p.topics.known.Load())[topic])
	}
	items.Store(0)
	each := testing.AllocsPerRun(100, func() { to.report(f, time.Now()) })
	if items.Load() != int64(101*len(ms)) || each > 100 {
		t.Errorf("%d items; %.0f allocations for %d messages", items.Load(), each, len(ms))
	}
}
