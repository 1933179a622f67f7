package webhook

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/server/internal/ids"
)

func TestMain(m *testing.M) { servertest.Main(m) }

var ctx = context.Background()

// has fails unless a text is one line with some words.
func has(t testing.TB, text string, words ...string) {
	t.Helper()
	if strings.Contains(text, "\n") {
		t.Errorf("%q is more than one line", text)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q has no %q", text, w)
		}
	}
}

// secret is one that tests sign with, and look for where it must not be.
var secret = secretOf("hush hush hush hush hush hush")

func secretOf(text string) string {
	return secretPrefix + base64.StdEncoding.EncodeToString([]byte(text))
}

// receiver is a real HTTP server that keeps what it was sent.
type receiver struct {
	*httptest.Server
	accepted atomic.Int64 // connections
	got      chan request
}

type request struct {
	http.Header
	path, body string
}

// receive starts a receiver that answers as a handler does, or 200 if that is nil.
func receive(t testing.TB, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := newReceiver(answer)
	r.Start()
	t.Cleanup(r.Close)
	return r
}

func newReceiver(answer http.HandlerFunc) *receiver {
	r := &receiver{got: make(chan request, 10_000)}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		r.got <- request{q.Header, q.URL.RequestURI(), string(body)}
		if answer != nil {
			answer(w, q)
		}
	}))
	r.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			r.accepted.Add(1)
		}
	}
	return r
}

// next is the next request that a receiver gets.
func (r *receiver) next(t testing.TB) request {
	t.Helper()
	return await.Signal(t, "a request", r.got)
}

// status answers a status, and nothing else.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// listenerTo makes the listener of a target at a URL, without a worker.
func listenerTo(t testing.TB, url string, adjust ...func(*Target)) (*listener, *observer.ObservedLogs) {
	t.Helper()
	target := Target{Topic: message.Topic{Name: "orders", Kind: message.KindPriority}, URL: url, Secrets: []string{secret}, AllowPrivate: true}
	for _, f := range adjust {
		f(&target)
	}
	must.Do(t, target.Check())
	core, logs := observer.New(zapcore.DebugLevel)
	l := newListener(target.withDefaults(), zap.New(core))
	l.ids = ids.New(servertest.SharedRedis(t).Client(t), t.Name(), freshID)
	t.Cleanup(l.transport.CloseIdleConnections)
	return l, logs
}

func delivery(content string) *rmq.Delivery {
	return &rmq.Delivery{Topic: message.Topic{Name: "orders"}, Slot: 3, Content: content, Attempt: 1, Fence: 17}
}

// deliver lets a listener send a message, and returns what would become of it.
func deliver(l *listener) (message.What, error) {
	d := delivery("order 4711")
	err := l.OnMessage(ctx, d)
	return consumer.OutcomeOf(ctx, d, err), err
}

// became fails unless a message is sent with an end, and an error with the words.
func became(t testing.TB, l *listener, want message.What, words ...string) {
	t.Helper()
	what, err := deliver(l)
	if what != want {
		t.Errorf("it is %v and not %v: %v", what, want, err)
	}
	if len(words) > 0 && err == nil {
		t.Errorf("no error with %q", words)
	} else if err != nil {
		has(t, err.Error(), words...)
		if strings.Contains(err.Error(), "hush") {
			t.Errorf("%q shows a secret", err)
		}
	}
}

// events are what the observers of a worker got, by content.
type events struct {
	mu   sync.Mutex
	all  map[message.What][]message.Item
	when map[message.What][]time.Time // of each, by the clock of the worker
	wake chan struct{}
}

func newEvents() *events {
	return &events{all: map[message.What][]message.Item{}, when: map[message.What][]time.Time{}, wake: make(chan struct{}, 1)}
}

func (e *events) Observe(x *message.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, item := range x.Items {
		e.all[item.What] = append(e.all[item.What], item)
		e.when[item.What] = append(e.when[item.What], x.At)
	}
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *events) of(what message.What) []message.Item {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]message.Item(nil), e.all[what]...)
}

// at is when the message of a number had such an end.
func (e *events) at(what message.What, n int) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.when[what][n]
}

// await returns when so many messages have had an end.
func (e *events) await(t testing.TB, what message.What, n int) []message.Item {
	t.Helper()
	for {
		all := e.of(what)
		if len(all) >= n {
			return all
		}
		await.Signal(t, fmt.Sprintf("more than %d messages that are %v, of %d", len(all), what, n), e.wake)
	}
}

// office is a worker that pushes the messages of a topic, with a Redis that others share.
type office struct {
	*events
	*Push
	rdb    *redis.Client
	topic  rmq.Topic
	sender *rmq.Client
	logs   *observer.ObservedLogs
	config Config
}

var topics atomic.Int64

// open starts an office that sends to a URL.
func open(t testing.TB, url string, adjust ...func(*Config)) *office {
	t.Helper()
	o := prepare(t, url, adjust...)
	o.start(t)
	return o
}

func prepare(t testing.TB, url string, adjust ...func(*Config)) *office {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	o := &office{events: newEvents(), rdb: servertest.SharedRedis(t).Client(t), logs: logs,
		topic: rmq.Topic{Name: fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), topics.Add(1)), Kind: rmq.KindPriority, Slots: 16}}
	o.config = Config{
		Client:  rmq.Config{Redis: o.rdb, Logger: zap.New(core), Observers: []rmq.Observer{o.events}, SafetyLook: time.Second},
		Targets: []Target{{Topic: o.topic, URL: url, Secrets: []string{secret}, AllowPrivate: true, Backoff: rmq.Schedule(100 * time.Millisecond)}},
	}
	for _, f := range adjust {
		f(&o.config)
	}
	o.topic = o.config.Targets[0].Topic
	o.sender = senderOn(t, o.rdb)
	return o
}

func senderOn(t testing.TB, rdb redis.UniversalClient) *rmq.Client {
	t.Helper()
	sender, err := rmq.New(rmq.Config{Redis: rdb, Logger: zap.NewNop()})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, sender.Close(ctx)) })
	return sender
}

func (o *office) start(t testing.TB) {
	t.Helper()
	var err error
	o.Push, err = New(o.config)
	must.Do(t, err)
	t.Cleanup(func() { o.close(t) })
	must.Do(t, o.Start(ctx))
}

func (o *office) close(t testing.TB) {
	t.Helper()
	must.Do(t, o.Close(await.CleanupContext(t)))
}

// send sends messages of priorities, the first one of the largest.
func (o *office) send(t testing.TB, contents ...string) {
	t.Helper()
	all := make([]rmq.Message, len(contents))
	for i, c := range contents {
		all[i] = rmq.Priority{Content: c, Priority: int64(100 + len(contents) - i)}
	}
	_, err := o.sender.SendBatch(ctx, o.topic, all)
	must.Do(t, err)
}

func numbered(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("order %d", i)
	}
	return all
}

// oneSlot lets a topic have one slot only.
func oneSlot(c *Config) { c.Targets[0].Topic.Slots = 1 }
