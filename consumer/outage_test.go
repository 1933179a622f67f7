package consumer

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/worker/breaker"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// probesAfter is how many different messages must fail in a row until only probes are begun.
const probesAfter = 72

var errAway = errors.New("the database is away")

// database is what handlers need, and counts how often they do in vain.
type database struct {
	away  atomic.Bool
	tries atomic.Int64
}

func (d *database) write() error {
	if d.away.Load() {
		d.tries.Add(1)
		return errAway
	}
	return nil
}

// outageRig is a worker whose handlers need a database, with many messages due.
type outageRig struct {
	database
	*notes
	worker   *Consumer
	topic    message.Topic
	logs     *observer.ObservedLogs
	ledger   *ledger
	contents []string
}

// wayToListen has a consumer listen to a topic with a listener of single messages.
type wayToListen func(c *Consumer, t message.Topic, l ListenerFunc) error

func oneAfterTheOther(c *Consumer, t message.Topic, l ListenerFunc) error {
	return c.Listen(t, l, ListenOptions{})
}

func sideBySide(c *Consumer, t message.Topic, l ListenerFunc) error {
	return c.Listen(t, l, ListenOptions{Parallel: true})
}

// together handles some messages in one call, each by itself.
func together(c *Consumer, t message.Topic, l ListenerFunc) error {
	return c.ListenBatch(t, BatchFunc(func(ctx context.Context, b *Batch) error {
		for i, d := range b.Messages {
			if err := l(ctx, d); err != nil {
				b.Fail(i, err)
			}
		}
		return nil
	}), BatchOptions{Most: 4})
}

func startOutage(t *testing.T, rdb redis.UniversalClient, n int, pause time.Duration, listen wayToListen) *outageRig {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	r := &outageRig{notes: newNotes(), topic: topicOf(t, message.KindRangeMerge, 64), logs: logs, ledger: newLedger(t), contents: numbered("m", n)}
	r.away.Store(true)
	newSender(t, rdb, r.topic).send(t, r.contents...)
	r.worker = newConsumer(t, rdb, Config{
		Logger: zap.New(core), Observers: []message.Observer{r.ledger}, SafetyLook: time.Second,
		Backoff: verdict.Schedule(time.Second), // as many retries as there can be
	})
	r.worker.longestPause = pause
	must.Do(t, listen(r.worker, r.topic, r.around(func(context.Context, *Delivery) error { return r.write() })))
	start(t, r.worker)
	return r
}

// dueTimes is when each message is due that waits for its first delivery.
func dueTimes(rdb redis.UniversalClient, t message.Topic) map[string]float64 {
	due := map[string]float64{}
	for i := range t.Slots {
		for _, z := range rdb.ZRangeWithScores(ctx, keysOf(t, i).Store, 0, -1).Val() {
			due[z.Member.(string)] = z.Score
		}
	}
	return due
}

// line is the one of the log that begins with a text, if it was written.
func (r *outageRig) line(text string) (fields map[string]any, ok bool) {
	for _, e := range r.logs.FilterMessageSnippet(text).All() {
		return e.ContextMap(), true
	}
	return nil, false
}

// An outage of what is behind the handlers spends few attempts, kills nothing, and the work goes on by
// itself; however the messages are handled.
func TestOutageBehindTheHandlers(t *testing.T) {
	t.Parallel()
	for name, listen := range map[string]wayToListen{"serial": oneAfterTheOther, "parallel": sideBySide, "together": together} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb := shared(t)
			const pause = 300 * time.Millisecond
			r := startOutage(t, rdb, night.Times(2_000, 10_000), pause, listen)
			begun := time.Now()
			await.True(t, "it is called an outage", func() bool { _, ok := r.line("every message of a topic fails"); return ok })
			again := int64(0) // of messages that were tried before, on a machine that is slow to try so many
			r.await(t, "some were tried", func() bool {
				for _, a := range r.attempts {
					again += int64(len(a) - 1)
				}
				return true
			})
			workers := func() map[string]string { return rdb.HGetAll(ctx, protocol.ProbingKey(r.topic.Name)).Val() }
			await.True(t, "it is to be seen in Redis", func() bool { return workers()[r.worker.Worker()] != "" })
			if ttl := rdb.PTTL(ctx, protocol.ProbingKey(r.topic.Name)).Val(); ttl <= 0 || ttl > time.Minute {
				t.Errorf("it is forgotten after %v", ttl)
			}
			before := dueTimes(rdb, r.topic)
			await.Pass(10 * pause)
			moved := 0
			for content, at := range dueTimes(rdb, r.topic) {
				if before[content] != at {
					moved++
				}
			}
			if moved > 0 { // what a probe takes beside its own message goes back as it was
				t.Errorf("%d messages have another time than before", moved)
			}
			lasted, spent := time.Since(begun), r.tries.Load()
			// Those in flight when it began, messages that are handled together counted together; and the probes.
			flying := int64(8 + 63 + 3)
			if name == "together" {
				flying *= 4
			}
			probes := int64(lasted/pause) + 6
			t.Logf("%d attempts in %v", spent, lasted)
			if spent > flying+again+probes || spent < 10 {
				t.Errorf("%d attempts are spent in %v, of at most %d, %d again and %d probes", spent, lasted, flying, again, probes)
			}
			r.away.Store(false)
			r.await(t, "all are handled", func() bool { return len(r.attempts) == len(r.contents) })
			wantEmpty(t, rdb, r.topic)
			await.True(t, "its end is logged", func() bool { _, ok := r.line("messages of a topic succeed again"); return ok })
			await.True(t, "Redis forgets it", func() bool { return len(workers()) == 0 })
			if line, _ := r.line("every message"); line["topic"] != r.topic.Name || line["error"] != errAway.Error() || line["since"] == nil {
				t.Errorf("logged %v", line)
			}
			if line, _ := r.line("messages of a topic succeed"); line["topic"] != r.topic.Name || line["probes"] == int64(0) || line["after"] == nil {
				t.Errorf("logged %v", line)
			}
			must.Do(t, closeIn(r.worker, await.Patience))
			for c, a := range r.attempts {
				if len(a) > 10 {
					t.Errorf("%s was tried %d times", c, len(a))
				}
			}
		})
	}
}

// Contents that fail for ever, also first of their slot, keep no others from being handled: many of
// them come before the good ones, and the worker begins with them. All may have been due for long.
func TestPoisonBesideGoodMessages(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for _, late := range []time.Duration{0, time.Hour} {
		for slots, before := range map[int]int{1: 40, 8: 40, 64: 6} { // in each slot
			topic := topicOf(t, message.KindFixedTime, slots)
			bad, good := numbered("bad", before*slots), numbered("good", 300)
			s, due := newSender(t, rdb, topic), time.Now().Add(-late)
			s.sendAt(t, due, bad...)
			s.sendAt(t, due.Add(5*time.Millisecond), good...)
			core, logs := observer.New(zap.InfoLevel)
			var mu sync.Mutex
			done := map[string]bool{}
			c, begun := newConsumer(t, rdb, Config{Logger: zap.New(core)}), time.Now()
			must.Do(t, c.Listen(topic, ListenerFunc(func(_ context.Context, d *Delivery) error {
				if d.Content[0] == 'b' {
					return errors.New("poison")
				}
				mu.Lock()
				defer mu.Unlock()
				done[d.Content] = true
				return nil
			}), ListenOptions{}))
			start(t, c)
			await.True(t, "all good ones are handled", func() bool { mu.Lock(); defer mu.Unlock(); return len(done) == len(good) })
			if lines := logs.FilterMessageSnippet("every message").All(); len(lines) > 0 && time.Since(begun) < 2*time.Second {
				t.Errorf("%d slots: it is called an outage: %v", slots, lines)
			}
			must.Do(t, closeIn(c, await.Patience))
		}
	}
}

// The batches that are in hand when all fail go back as they were, also where the listener does not want
// to know when a message was due: else they would stand behind others that were due later.
func TestWhatAnAlarmHandsBack(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	topic := topicOf(t, message.KindFixedTime, 8)
	s, due := newSender(t, rdb, topic), time.Now().Add(-time.Hour)
	for i, content := range numbered("m", 400) {
		s.sendAt(t, due.Add(time.Duration(i)*time.Millisecond), content)
	}
	before := dueTimes(rdb, topic)
	observed := newLedger(t)
	c := newConsumer(t, rdb, Config{Backoff: verdict.Schedule(time.Hour), Observers: []message.Observer{observed}})
	must.Do(t, c.Listen(topic, ListenerFunc(func(_ context.Context, d *Delivery) error {
		if !d.Due.IsZero() {
			t.Errorf("the listener is shown that %s was due at %v", d.Content, d.Due)
		}
		return errAway
	}), ListenOptions{}))
	start(t, c)
	await.True(t, "only probes are begun", func() bool { return c.topics[0].gate.State() >= breaker.ProbeRetry })
	must.Do(t, closeIn(c, await.Patience))
	after := dueTimes(rdb, topic)
	if len(after) == len(before) || len(after) < len(before)/2 {
		t.Fatalf("%d of %d messages wait", len(after), len(before))
	}
	for content, at := range after {
		if at != before[content] {
			t.Errorf("%s was due at %.0f, and is now at %.0f", content, before[content], at)
		}
	}
	observed.mu.Lock()
	defer observed.mu.Unlock()
	for _, x := range observed.items {
		if x.Score != 0 {
			t.Errorf("observers are shown a time: %+v", x)
		}
	}
}

// One content that always fails and one good one in another slot, after an outage: the probes go round
// the slots, so the work goes on.
func TestProbesGoRoundTheSlots(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	topic := topicOf(t, message.KindPriority, 64)
	topic.Literal = true // what fails comes again at once
	s := newSender(t, rdb, topic)
	var away atomic.Bool
	away.Store(true)
	handled := make(chan string, 1000) // more than there are
	core, log := observer.New(zap.WarnLevel)
	c := newConsumer(t, rdb, Config{Logger: zap.New(core)})
	c.longestPause = 20 * time.Millisecond
	must.Do(t, c.Listen(topic, ListenerFunc(func(_ context.Context, d *Delivery) error {
		if away.Load() || strings.HasPrefix(d.Content, "poison") {
			return errAway
		}
		handled <- d.Content
		return nil
	}), ListenOptions{}))
	s.send(t, numbered("first", probesAfter)...)
	start(t, c)
	await.True(t, "only probes are begun", func() bool { return log.FilterMessageSnippet("every message of a topic fails").Len() > 0 })
	for i := range 64 {
		s.send(t, fmt.Sprint("poison", i))
	}
	s.send(t, "good")
	away.Store(false)
	for await.Signal(t, "a handled message", handled) != "good" {
	}
}

// Handlers that have been running since before the outage, and go on, do not keep probes from being
// made, nor the work from going on.
func TestProbesBesideLongHandlers(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	topic := topicOf(t, message.KindRangeMerge, 16)
	s := newSender(t, rdb, topic)
	long, begun, over := numbered("long", 3), make(chan int, 3), make(chan struct{})
	var db database
	db.away.Store(true)
	handled := make(chan string, 1000)
	c := newConsumer(t, rdb, Config{Timeout: time.Hour})
	c.longestPause = 20 * time.Millisecond
	must.Do(t, c.Listen(topic, ListenerFunc(func(_ context.Context, d *Delivery) error {
		if slices.Contains(long, d.Content) {
			begun <- 1
			<-over
			return nil
		}
		if err := db.write(); err != nil {
			return err
		}
		handled <- d.Content
		return nil
	}), ListenOptions{}))
	s.send(t, long...)
	start(t, c)
	for range long {
		await.Signal(t, "a beginning", begun)
	}
	s.send(t, numbered("m", 200)...)
	await.True(t, "probes are made", func() bool { return db.tries.Load() > probesAfter+10 })
	db.away.Store(false)
	for range 100 {
		await.Signal(t, "a handled message", handled)
	}
	close(over)
}

// A worker that is closed while it probes does not any more: who counts those that do hears of it
// before Close returns, once.
func TestProbingEndsWithTheWorker(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	topic, news := topicOf(t, message.KindRangeMerge, 16), make(chan message.Event, 10)
	newSender(t, rdb, topic).send(t, numbered("m", 500)...)
	c := newConsumer(t, rdb, Config{Observers: []message.Observer{message.ObserverFunc(func(e *message.Event) {
		if e.Items[0].What == message.Probing {
			x := *e
			x.Items = slices.Clone(e.Items)
			news <- x
		}
	})}})
	c.longestPause = 100 * time.Millisecond
	must.Do(t, c.Listen(topic, ListenerFunc(func(context.Context, *Delivery) error { return errAway }), ListenOptions{}))
	start(t, c)
	if began := await.Signal(t, "news", news); began.Items[0].Reason != "began" {
		t.Fatalf("%+v", began)
	}
	must.Do(t, closeIn(c, await.Patience))
	if len(news) != 1 {
		t.Fatalf("%d events", len(news))
	}
	if ended := await.Signal(t, "news", news); ended.Items[0].Reason != "ended" || ended.Topic.Name != topic.Name || ended.Worker != c.Worker() || ended.Slot != -1 || ended.At.IsZero() {
		t.Errorf("%+v", ended)
	}
}

// A topic without a breaker tries everything.
func TestNoBreaker(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	topic := topicOf(t, message.KindRangeMerge, 8)
	n := newNotes()
	newSender(t, rdb, topic).send(t, numbered("m", 500)...)
	work(t, rdb, Config{Backoff: verdict.Schedule(time.Hour)}, topic, n.around(func(context.Context, *Delivery) error { return errAway }), ListenOptions{NoBreaker: true})
	n.awaitAll(t, numbered("m", 500))
}
