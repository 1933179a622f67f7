package rmq_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/slots"
)

// Bad input, one kind after the other: a clear error that names the field and the
// limit, nothing stored, nothing lost.

var background = context.Background()

// bench is a server, and a client that has sent nothing yet.
type bench struct {
	*testing.T
	server *servertest.Server
	rdb    *redis.Client
	client *rmq.Client
}

func newBench(t *testing.T, cfg rmq.Config, args ...string) *bench {
	t.Helper()
	server := servertest.Redis(t, args...)
	return benchOn(t, server, server.Client(t, hasty), cfg)
}

// hasty makes a client report at once that no server is there. For the answer of a busy one it waits.
func hasty(o *redis.Options) { o.DialerRetries, o.MaxRetries, o.ReadTimeout = 1, -1, await.Patience }

func benchOn(t *testing.T, server *servertest.Server, rdb *redis.Client, cfg rmq.Config) *bench {
	t.Helper()
	cfg.Redis = rdb
	client, err := rmq.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t, server, server.Client(t), client}
	t.Cleanup(func() {
		if err := end(client); err != nil {
			t.Error(err)
		}
	})
	return b
}

var (
	merging   = rmq.Topic{Name: "merging", Kind: rmq.KindRangeMerge}
	ranked    = rmq.Topic{Name: "ranked", Kind: rmq.KindPriority}
	scheduled = rmq.Topic{Name: "scheduled", Kind: rmq.KindFixedTime}
)

func idle(context.Context, *rmq.Delivery) error { return nil }

func (b *bench) send(t rmq.Topic, m rmq.Message) error {
	_, err := b.client.Send(background, t, m)
	return err
}

// says fails unless err says all of it.
func (b *bench) says(err error, texts ...string) {
	b.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			b.Errorf("got %v, want %q", err, text)
		}
	}
}

// refused fails unless err is about the field and tells the limit.
func (b *bench) refused(err error, field, limit string) {
	b.Helper()
	var invalid *rmq.InvalidError
	if !errors.As(err, &invalid) || !errors.Is(err, rmq.ErrInvalid) || invalid.Field != field || !strings.Contains(invalid.Limit, limit) {
		b.Errorf("got %v, want a refusal of %s with the limit %q", err, field, limit)
	}
	b.says(err, field, limit)
}

// keys is how many there are.
func (b *bench) keys() int64 {
	b.Helper()
	n, err := b.rdb.DBSize(background).Result()
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// waiting is how many messages wait in a topic.
func (b *bench) waiting(t rmq.Topic) (n int64) {
	b.Helper()
	for slot := range definition.Full(t).Slots {
		n += b.rdb.ZCard(background, protocol.StoreKey(t.Name, slot)).Val()
	}
	return n
}

// start starts the client: again where a busy server did not answer in time.
func (b *bench) start() {
	b.Helper()
	await.Nil(b, "start", func() error { return b.client.Start(background) })
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func TestBadTopics(t *testing.T) {
	t.Parallel()
	b := newBench(t, rmq.Config{})
	for _, c := range []struct{ name, limit string }{
		{"", "1 to 200 bytes"},
		{strings.Repeat("x", 201), "1 to 200 bytes"},
		{strings.Repeat("ж", 101), "1 to 200 bytes"},
		{"a{b", "free of '{', '}', '/' and control characters"},
		{"a}b", "free of '{', '}', '/' and control characters"},
		{"a/b", "free of '{', '}', '/' and control characters"},
		{"a\nb", "free of '{', '}', '/' and control characters"},
		{"a\x00b", "free of '{', '}', '/' and control characters"},
		{"a\x7fb", "free of '{', '}', '/' and control characters"},
		{"a\u0085b", "free of '{', '}', '/' and control characters"},
		{"a\xffb", "valid UTF-8"},
	} {
		topic := rmq.Topic{Name: c.name, Kind: rmq.KindPriority}
		b.refused(b.send(topic, rmq.Priority{Content: "x", Priority: 17}), "Topic.Name", c.limit)
		b.refused(b.client.Listen(topic, rmq.ListenerFunc(idle), rmq.ListenOptions{}), "Topic.Name", c.limit)
	}
	for _, n := range []int{3, -1, 1 << 17, 1<<16 + 1, math.MaxInt} {
		topic := rmq.Topic{Name: "slots", Kind: rmq.KindPriority, Slots: n}
		b.refused(b.send(topic, rmq.Priority{Content: "x", Priority: 17}), "Topic.Slots", "a power of two from 1 to 65536")
		b.refused(b.client.Listen(topic, rmq.ListenerFunc(idle), rmq.ListenOptions{}), "Topic.Slots", "a power of two from 1 to 65536")
	}
	for _, kind := range []rmq.Kind{0, 4, 255} {
		topic := rmq.Topic{Name: "kind", Kind: kind}
		b.refused(b.send(topic, rmq.Priority{Content: "x", Priority: 17}), "Topic.Kind", "KindRangeMerge, KindPriority or KindFixedTime")
		b.refused(b.client.Listen(topic, rmq.ListenerFunc(idle), rmq.ListenOptions{}), "Topic.Kind", "KindRangeMerge, KindPriority or KindFixedTime")
	}
	if n := b.keys(); n != 0 {
		t.Errorf("%d keys were stored", n)
	}
	for n, stored := range map[int]string{0: "64", 1: "1", 1 << 16: "65536"} {
		topic := rmq.Topic{Name: fmt.Sprint("good ", n, strings.Repeat("ж", 90)), Kind: rmq.KindPriority, Slots: n}
		b.must(b.send(topic, rmq.Priority{Content: "x", Priority: 17}))
		if got := b.rdb.HGet(background, protocol.DefinitionKey(topic.Name), "slots").Val(); got != stored {
			t.Errorf("%d slots were stored as %s", n, got)
		}
	}
}

func TestBadMessages(t *testing.T) {
	t.Parallel()
	b := newBench(t, rmq.Config{})
	large := strings.Repeat("x", 256<<10)
	soon := time.Now().Add(time.Hour)
	for _, topic := range []rmq.Topic{merging, ranked, scheduled} {
		b.must(b.client.Listen(topic, rmq.ListenerFunc(idle), rmq.ListenOptions{}))
	}
	b.must(b.send(merging, rmq.RangeMerge{Content: "first", Range: time.Hour})) // so that the topics are there
	b.must(b.send(ranked, rmq.Priority{Content: "first", Priority: 17}))
	b.must(b.send(scheduled, rmq.FixedTime{Content: "first", At: soon}))
	before := b.keys()
	for _, c := range []struct {
		topic        rmq.Topic
		m            rmq.Message
		field, limit string
	}{
		{merging, rmq.Priority{Content: "x", Priority: 17}, "Message", `of the kind of topic "merging": range-merge`},
		{merging, rmq.FixedTime{Content: "x", At: soon}, "Message", `of the kind of topic "merging": range-merge`},
		{ranked, rmq.RangeMerge{Content: "x", Range: 1}, "Message", `of the kind of topic "ranked": priority`},
		{scheduled, rmq.Priority{Content: "x", Priority: 17}, "Message", `of the kind of topic "scheduled": fixed-time`},
		{ranked, nil, "Message", "a RangeMerge, a Priority or a FixedTime"},
		{ranked, rmq.Priority{Priority: 17}, "Content", "1 to 262144 bytes"},
		{ranked, rmq.Priority{Content: large + "x", Priority: 17}, "Content", "1 to 262144 bytes"},
		{merging, rmq.RangeMerge{Content: "x"}, "Range", "at least 1ms and at most 10 years"},
		{merging, rmq.RangeMerge{Content: "x", Range: 10}, "Range", "did you mean 10 * time.Millisecond?"},
		{merging, rmq.RangeMerge{Content: "x", Range: -1}, "Range", "at least 1ms and at most 10 years"},
		{merging, rmq.RangeMerge{Content: "x", Range: 10*365*24*time.Hour + 1}, "Range", "at least 1ms and at most 10 years"},
		{merging, rmq.RangeMerge{Content: "x", Range: math.MaxInt64}, "Range", "at least 1ms and at most 10 years"},
		{ranked, rmq.Priority{Content: "x", Priority: 16}, "Priority", "17 to 9007199254740991"},
		{ranked, rmq.Priority{Content: "x", Priority: 0}, "Priority", "17 to 9007199254740991"},
		{ranked, rmq.Priority{Content: "x", Priority: math.MinInt64}, "Priority", "17 to 9007199254740991"},
		{ranked, rmq.Priority{Content: "x", Priority: 1 << 53}, "Priority", "17 to 9007199254740991"},
		{ranked, rmq.Priority{Content: "x", Priority: math.MaxInt64}, "Priority", "17 to 9007199254740991"},
		{scheduled, rmq.FixedTime{Content: "x"}, "At", "a time (time.Now() for now), unless In is 1ms or more"},
		{scheduled, rmq.FixedTime{Content: "x", At: time.Unix(900_000_000, 0)}, "At", "in the year 2000 at the earliest"},
		{scheduled, rmq.FixedTime{Content: "x", At: soon, In: time.Second}, "In", "one of the two"},
		{scheduled, rmq.FixedTime{Content: "x", In: -time.Second}, "In", "at least 1ms and at most 10 years"},
		{scheduled, rmq.FixedTime{Content: "x", In: 30}, "In", "did you mean 30 * time.Millisecond?"},
		{scheduled, rmq.FixedTime{Content: "x", In: 10*365*24*time.Hour + 1}, "In", "at least 1ms and at most 10 years"},
		{scheduled, rmq.FixedTime{Content: "x", At: time.UnixMilli(soon.Unix())}, "At", "did you pass seconds"},
		{scheduled, rmq.FixedTime{Content: "x", At: time.UnixMilli(soon.UnixMicro())}, "At", "in the year 9999 at the latest"},
	} {
		b.refused(b.send(c.topic, c.m), c.field, c.limit)
	}
	if after := b.keys(); after != before {
		t.Errorf("%d keys, now %d", before, after)
	}
	for _, topic := range []rmq.Topic{merging, ranked, scheduled} {
		if n := b.waiting(topic); n != 1 {
			t.Errorf("%d messages wait in %s", n, topic.Name)
		}
	}
	b.must(b.send(ranked, rmq.Priority{Content: large, Priority: 1<<53 - 1}))
	b.must(b.send(merging, rmq.RangeMerge{Content: "x", Range: 10 * 365 * 24 * time.Hour}))
	b.must(b.send(scheduled, rmq.FixedTime{Content: "past", At: time.Now().Add(-time.Hour)}))
	b.must(b.send(scheduled, rmq.FixedTime{Content: "x", At: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}))

	strict := newBench(t, rmq.Config{RefusePast: true})
	err := strict.send(scheduled, rmq.FixedTime{Content: "x", At: time.Now().Add(-time.Hour)})
	strict.refused(err, "At", "after the server's clock, ")
	if !errors.Is(err, rmq.ErrPast) {
		t.Errorf("got %v", err)
	}

	small := newBench(t, rmq.Config{MaxContent: 3})
	small.refused(small.send(ranked, rmq.Priority{Content: "four", Priority: 17}), "Content", "1 to 3 bytes")
	small.must(small.send(ranked, rmq.Priority{Content: "two", Priority: 17}))
}

func TestBadCalls(t *testing.T) {
	t.Parallel()
	b := newBench(t, rmq.Config{})
	var nobody context.Context
	one := rmq.Priority{Content: "x", Priority: 17}
	_, err := b.client.Send(nobody, ranked, one)
	b.says(err, "send to topic ranked", "ctx is nil")
	_, err = b.client.SendBatch(nobody, ranked, []rmq.Message{one})
	b.says(err, "ctx is nil")
	b.says(b.client.Start(nobody), "start", "ctx is nil")
	b.says(b.client.Close(nobody), "close", "ctx is nil")
	for _, call := range changes(b.client) {
		b.says(call(nobody), "in topic ranked: ctx is nil")
	}
	var nothing rmq.ListenerFunc
	b.says(b.client.Listen(ranked, nil, rmq.ListenOptions{}), "listen to topic ranked", "the listener is nil")
	b.says(b.client.Listen(ranked, nothing, rmq.ListenOptions{}), "the listener is nil")
	b.says(b.client.Start(background), "no topic has a listener")

	b.must(b.client.Listen(ranked, rmq.ListenerFunc(idle), rmq.ListenOptions{}))
	b.says(b.client.Listen(ranked, rmq.ListenerFunc(idle), rmq.ListenOptions{}), "listen to topic ranked", "has a listener already")
	b.says(b.client.Listen(rmq.Topic{Name: ranked.Name, Kind: rmq.KindFixedTime, Slots: 4}, rmq.ListenerFunc(idle), rmq.ListenOptions{}), "has a listener already")
	if n := b.keys(); n != 0 {
		t.Errorf("%d keys were stored", n)
	}
	b.start()
	if err := b.client.Listen(merging, rmq.ListenerFunc(idle), rmq.ListenOptions{}); err == nil || !strings.Contains(err.Error(), "it has been started already") {
		t.Errorf("Listen after Start: %v", err)
	}
	if err := b.client.Start(background); err == nil || !strings.Contains(err.Error(), "it has been started already") {
		t.Errorf("Start twice: %v", err)
	}
	b.must(b.client.Close(background))
	if err := b.send(ranked, one); !errors.Is(err, rmq.ErrClosed) {
		t.Errorf("Send after Close: %v", err)
	}
	if _, err := b.client.SendBatch(background, ranked, []rmq.Message{one}); !errors.Is(err, rmq.ErrClosed) {
		t.Errorf("SendBatch after Close: %v", err)
	}
	if err := b.client.Start(background); !errors.Is(err, rmq.ErrClosed) {
		t.Errorf("Start after Close: %v", err)
	}
	for what, call := range changes(b.client) {
		if err := call(background); !errors.Is(err, rmq.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	if n := b.waiting(ranked); n != 0 {
		t.Errorf("%d messages were stored", n)
	}
	b.must(b.client.Close(background)) // twice is no mistake
}

func TestCancelledContexts(t *testing.T) {
	t.Parallel()
	b := newBench(t, rmq.Config{})
	cancelled, cancel := context.WithCancel(background)
	cancel()
	one := rmq.Priority{Content: "x", Priority: 17}
	if _, err := b.client.Send(cancelled, ranked, one); !errors.Is(err, context.Canceled) || errors.Is(err, rmq.ErrUncertain) {
		t.Errorf("cancelled before: %v", err)
	}
	if _, err := b.client.SendBatch(cancelled, ranked, []rmq.Message{one}); !errors.Is(err, context.Canceled) || errors.Is(err, rmq.ErrUncertain) {
		t.Errorf("cancelled before: %v", err)
	}
	got := make(chan string, 10)
	b.must(b.client.Listen(ranked, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error { got <- d.Content; return nil }), rmq.ListenOptions{}))
	if err := b.client.Start(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("start with a cancelled context: %v", err)
	}
	if n := b.keys(); n != 0 {
		t.Errorf("%d keys were stored", n)
	}

	// During: the server hangs, so nobody can know. Sent again, nothing is lost and
	// nothing stored twice.
	b.must(b.send(ranked, rmq.Priority{Content: "first", Priority: 17}))
	b.server.Pause()
	during, stop := context.WithCancel(background)
	answer := make(chan error, 1)
	go func() { _, err := b.client.Send(during, ranked, one); answer <- err }()
	late := time.AfterFunc(100*time.Millisecond, stop) // most likely it is written by then
	if err := await.Signal(t, "the send returns", answer); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled during: %v", err)
	}
	late.Stop()
	stop()
	b.server.Resume()
	b.must(b.send(ranked, one))
	if n := b.waiting(ranked); n != 2 {
		t.Errorf("%d messages wait", n)
	}
	b.start() // after the failed one
	for _, want := range []string{"first", "x"} {
		if content := await.Signal(t, want+" is handled", got); content != "first" && content != "x" {
			t.Errorf("handled %s", content)
		}
	}
}

func TestRedisUnreachable(t *testing.T) {
	t.Parallel()
	b := newBench(t, rmq.Config{})
	b.must(b.client.Listen(ranked, rmq.ListenerFunc(idle), rmq.ListenOptions{}))
	b.server.Kill()
	err := b.send(ranked, rmq.Priority{Content: "x", Priority: 17})
	b.says(err, "send to topic ranked", "connection refused")
	if errors.Is(err, rmq.ErrUncertain) {
		t.Errorf("a server that was never reached may have it: %v", err)
	}
	b.says(b.client.Start(background), "Redis does not answer", "connection refused")
	b.server.Restart(t)
	b.must(b.send(ranked, rmq.Priority{Content: "x", Priority: 17}))
	b.start()
}

// Who may not come in, or may not run scripts, is told what to change.
func TestRedisTurnsTheUserAway(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t, "--requirepass", "secret")
	account{"dumb", strings.Fields("~* &* +@all -eval -evalsha")}.grant(t, server.Client(t))
	for _, c := range []struct {
		adjust func(*redis.Options)
		says   string
	}{
		{func(o *redis.Options) { o.Password = "wrong" }, `Redis does not know user "default" with this password`},
		{func(o *redis.Options) { o.Password = "" }, "Redis asks for a password; set Password"},
		{account{user: "dumb"}.login, `grant Redis user "dumb" +evalsha`},
	} {
		b := benchOn(t, server, server.Client(t, hasty, c.adjust), rmq.Config{})
		b.must(b.client.Listen(ranked, rmq.ListenerFunc(idle), rmq.ListenOptions{}))
		b.says(b.client.Start(background), "start", c.says)
		b.says(b.send(ranked, rmq.Priority{Content: "x", Priority: 17}), "send to topic ranked", c.says)
		if n := b.keys(); n != 0 {
			t.Errorf("%d keys were stored", n)
		}
	}
}

// At maxmemory, sends are refused and what waits is handled.
func TestMaxmemoryReached(t *testing.T) {
	t.Parallel()
	got := make(chan string, 10)
	b := newBench(t, rmq.Config{})
	b.must(b.client.Listen(ranked, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error { got <- d.Content; return nil }), rmq.ListenOptions{}))
	b.must(b.send(ranked, rmq.Priority{Content: "before", Priority: 17}))
	b.must(b.rdb.ConfigSet(background, "maxmemory", "1").Err())
	err := b.send(ranked, rmq.Priority{Content: "refused", Priority: 17})
	b.says(err, "send to topic ranked", "OOM", "'maxmemory'")
	if errors.Is(err, rmq.ErrUncertain) || b.waiting(ranked) != 1 {
		t.Errorf("%v; %d messages wait", err, b.waiting(ranked))
	}
	b.start()
	if content := await.Signal(t, "what waits is handled", got); content != "before" {
		t.Errorf("handled %s", content)
	}
	b.must(b.rdb.ConfigSet(background, "maxmemory", "0").Err())
	b.must(b.send(ranked, rmq.Priority{Content: "after", Priority: 17}))
	if content := await.Signal(t, "what comes afterwards is handled", got); content != "after" {
		t.Errorf("handled %s", content)
	}
}

// A server that evicts, or only reads, is refused, and nothing is stored.
func TestUnfitServers(t *testing.T) {
	t.Parallel()
	b := newBench(t, rmq.Config{}, "--maxmemory-policy", "volatile-lru")
	b.must(b.client.Listen(ranked, rmq.ListenerFunc(idle), rmq.ListenOptions{}))
	b.says(b.client.Start(background), "maxmemory-policy volatile-lru", "set maxmemory-policy noeviction")
	if n := b.keys(); n != 0 {
		t.Errorf("%d keys were stored", n)
	}
	b.must(b.rdb.ConfigSet(background, "maxmemory-policy", "noeviction").Err())
	b.start()

	replica := newBench(t, rmq.Config{}, "--replicaof", strings.Replace(b.server.Addr(), ":", " ", 1))
	replica.must(replica.client.Listen(ranked, rmq.ListenerFunc(idle), rmq.ListenOptions{}))
	replica.says(replica.client.Start(background), "read-only replica", "connect to its master")
	replica.says(replica.send(ranked, rmq.Priority{Content: "x", Priority: 17}), "send to topic ranked", "READONLY")
}

// A key of another type under a name of RMQ's is named, costs its own slot only,
// and nothing is lost once it is out of the way.
func TestWrongTypesAreNamed(t *testing.T) {
	t.Parallel()
	const content, basis = "stuck", "b"
	topic := rmq.Topic{Name: "ranked", Kind: rmq.KindPriority, Slots: 4}
	stuck := slots.Of(basis, topic.Slots)
	other := "c"
	for slots.Of(other, topic.Slots) == stuck {
		other += "c"
	}
	k := protocol.KeysOf(topic.Name, stuck)
	for _, key := range []string{k.Store, k.Prepare, k.Meta, protocol.DefinitionKey(topic.Name), protocol.TopicsKey, protocol.WorkersKey(topic.Name)} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			logged, logs := observer.New(zap.WarnLevel)
			b, got := newBench(t, rmq.Config{Logger: zap.New(logged), SafetyLook: 50 * time.Millisecond}), make(chan string, 10)
			b.must(b.client.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error { got <- d.Content; return nil }), rmq.ListenOptions{}))
			spoil := func() { b.must(b.rdb.Set(background, key, "something else", 0).Err()) }
			mend := func() { b.must(b.rdb.Del(background, key).Err()) }
			message := func(content, basis string) rmq.Priority {
				return rmq.Priority{Content: content, SlotBasis: basis, Priority: 17}
			}
			spoil()
			err := b.send(topic, message(content, basis))
			switch key {
			case protocol.DefinitionKey(topic.Name), protocol.TopicsKey:
				b.says(err, key, "WRONGTYPE")
				b.says(b.client.Start(background), key, "WRONGTYPE")
			case protocol.WorkersKey(topic.Name):
				b.must(err)
				b.says(b.client.Start(background), key, "WRONGTYPE")
			case k.Store:
				b.says(err, key+" is not of the type", "WRONGTYPE")
			default:
				b.must(err)
			}
			if key != k.Store && key != k.Prepare && key != k.Meta {
				mend()
				b.start()
				b.must(b.send(topic, message(content, basis)))
				if c := await.Signal(t, "it is handled", got); c != content {
					t.Errorf("handled %s", c)
				}
				return
			}
			b.start()
			b.must(b.send(topic, message("free", other)))
			if c := await.Signal(t, "what is in another slot is handled", got); c != "free" {
				t.Errorf("handled %s", c)
			}
			told := func() (told bool) {
				for _, entry := range logs.All() {
					told = told || strings.Contains(fmt.Sprint(entry.ContextMap()["error"]), key+" is not of the type")
				}
				return told
			}
			await.True(t, "the worker tells", told)
			mend()
			if key == k.Store {
				b.must(b.send(topic, message(content, basis)))
			}
			if c := await.Signal(t, "it is handled", got); c != content {
				t.Errorf("handled %s", c)
			}
		})
	}
}

func TestBatchWithOneBadMessage(t *testing.T) {
	t.Parallel()
	b := newBench(t, rmq.Config{})
	good := func(n int) rmq.Message { return rmq.Priority{Content: fmt.Sprint(n), Priority: 17} }
	for _, c := range []struct {
		bad   rmq.Message
		field string
	}{
		{rmq.Priority{Content: "x", Priority: 16}, "Priority"},
		{rmq.Priority{Priority: 17}, "Content"},
		{rmq.RangeMerge{Content: "x", Range: 1}, "Message"},
		{nil, "Message"},
	} {
		_, err := b.client.SendBatch(background, ranked, []rmq.Message{good(0), good(1), c.bad, good(3)})
		b.says(err, "send batch of 4 to topic ranked", "message 2: "+c.field+" is ")
		if n := b.waiting(ranked); n != 0 || !errors.Is(err, rmq.ErrInvalid) {
			t.Errorf("%d messages wait, %v", n, err)
		}
	}
	receipts, err := b.client.SendBatch(background, ranked, []rmq.Message{good(0), good(1)})
	if err != nil || len(receipts) != 2 || b.waiting(ranked) != 2 {
		t.Errorf("%v %v", receipts, err)
	}

	// Who is refused does not keep others from sending at the same time.
	var sending sync.WaitGroup
	for n := range 20 {
		sending.Go(func() {
			if err := b.send(ranked, good(n)); err != nil {
				t.Error(err)
			}
			b.refused(b.send(ranked, rmq.Priority{Content: "x"}), "Priority", "17 to")
		})
	}
	sending.Wait()
	if n := b.waiting(ranked); n != 20 {
		t.Errorf("%d messages wait", n)
	}
}
