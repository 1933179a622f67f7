package consumer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/slots"
)

var ctx = context.Background()

// shared is a client of the server all tests of this package use.
func shared(t testing.TB) *redis.Client { return servertest.SharedRedis(t).Client(t) }

var topics atomic.Int64

// topicOf is a topic of the test's own on a server it may share.
func topicOf(t testing.TB, kind message.Kind, slots int) message.Topic {
	name := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
	return message.Topic{Name: fmt.Sprintf("%s-%d", name, topics.Add(1)), Kind: kind, Slots: slots}
}

func closeIn(c *Consumer, d time.Duration) error {
	within, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return c.Close(within)
}

// newConsumer is closed with the test, which fails if that does not work.
func newConsumer(t testing.TB, rdb redis.UniversalClient, cfg Config) *Consumer {
	t.Helper()
	if cfg.SafetyLook == 0 {
		cfg.SafetyLook = time.Hour // so that a lost wake-up does not go unnoticed
	}
	c, err := New(rdb, cfg)
	must.Do(t, err)
	t.Cleanup(func() {
		if err := closeIn(c, await.Patience); err != nil {
			t.Error(err)
		}
	})
	return c
}

// work starts a consumer with one listener.
func work(t testing.TB, rdb redis.UniversalClient, cfg Config, topic message.Topic, l ListenerFunc, o ...ListenOptions) *Consumer {
	t.Helper()
	c := newConsumer(t, rdb, cfg)
	must.Do(t, c.Listen(topic, l, append(o, ListenOptions{})[0]))
	start(t, c)
	return c
}

// start starts it again where a busy server did not answer in time.
func start(t testing.TB, c *Consumer) {
	t.Helper()
	await.Nil(t, "start", func() error { return c.Start(ctx) })
}

// impatient is for clients whose server is to fall silent: they notice soon.
func impatient(o *redis.Options) {
	o.ReadTimeout, o.WriteTimeout = 300*time.Millisecond, 300*time.Millisecond
}

// sender sends to one topic.
type sender struct {
	*producer.Producer
	topic message.Topic
}

func newSender(t testing.TB, rdb redis.UniversalClient, topic message.Topic) sender {
	t.Helper()
	p, err := producer.New(rdb, producer.Config{})
	must.Do(t, err)
	t.Cleanup(func() {
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return sender{p, topic}
}

// soon is a message of the topic's kind that is due within some ms.
func soon(topic message.Topic, content, basis string) message.Message {
	switch topic.Kind {
	case message.KindPriority:
		return message.Priority{Content: content, SlotBasis: basis, Priority: 100}
	case message.KindRangeMerge:
		return message.RangeMerge{Content: content, SlotBasis: basis, Range: time.Millisecond}
	default:
		return message.FixedTime{Content: content, SlotBasis: basis, At: time.Now().Add(50 * time.Millisecond)}
	}
}

// send sends messages that are due within some ms.
func (s sender) send(t testing.TB, contents ...string) {
	t.Helper()
	ms := make([]message.Message, len(contents))
	for i, c := range contents {
		ms[i] = soon(s.topic, c, "")
	}
	_, err := s.SendBatch(ctx, s.topic, ms)
	must.Do(t, err)
}

// sendAt sends messages of a fixed time.
func (s sender) sendAt(t testing.TB, at time.Time, contents ...string) {
	t.Helper()
	ms := make([]message.Message, len(contents))
	for i, c := range contents {
		ms[i] = message.FixedTime{Content: c, At: at}
	}
	_, err := s.SendBatch(ctx, s.topic, ms)
	must.Do(t, err)
}

func numbered(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%d", prefix, i)
	}
	return all
}

// notes keeps what handlers have seen.
type notes struct {
	mu       sync.Mutex
	changed  chan struct{}
	attempts map[string][]int // by content, in the order of the deliveries
	total    int
	inSlot   map[int]int // handlers that run now
	most     int         // handlers that ran at the same time
	running  int
	overlaps int // two in one slot at the same time
}

func newNotes() *notes {
	return &notes{changed: make(chan struct{}), attempts: map[string][]int{}, inSlot: map[int]int{}}
}

// begin and end note a handler.
func (n *notes) begin(d *Delivery) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.total++
	n.attempts[d.Content] = append(n.attempts[d.Content], d.Attempt)
	if n.inSlot[d.Slot]++; n.inSlot[d.Slot] > 1 {
		n.overlaps++
	}
	n.running++
	n.most = max(n.most, n.running)
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *notes) end(d *Delivery) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.inSlot[d.Slot]--
	n.running--
	close(n.changed)
	n.changed = make(chan struct{})
}

// around is a listener that notes what l is given.
func (n *notes) around(l ListenerFunc) ListenerFunc {
	return func(ctx context.Context, d *Delivery) error {
		n.begin(d)
		defer n.end(d)
		return l(ctx, d)
	}
}

// done is a listener that notes and succeeds.
func (n *notes) done() ListenerFunc {
	return n.around(func(context.Context, *Delivery) error { return nil })
}

// await returns when ok, which is called with n locked, is true.
func (n *notes) await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	timer := time.NewTimer(await.Patience)
	defer timer.Stop()
	for {
		n.mu.Lock()
		fine, changed, total := ok(), n.changed, n.total
		n.mu.Unlock()
		if fine {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			t.Fatalf("%s: not so after %v, and %d deliveries", what, await.Patience, total)
		}
	}
}

// awaitAll returns when each content was delivered and no handler runs.
func (n *notes) awaitAll(t testing.TB, contents []string) {
	t.Helper()
	n.await(t, fmt.Sprintf("%d contents are delivered", len(contents)), func() bool {
		if n.running > 0 || len(n.attempts) < len(contents) {
			return false
		}
		for _, c := range contents {
			if len(n.attempts[c]) == 0 {
				return false
			}
		}
		return true
	})
}

// wantOnce fails unless each content was delivered once, with attempt 1, and
// nothing overlapped.
func (n *notes) wantOnce(t testing.TB, contents []string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	wrong := 0
	for _, c := range contents {
		if a := n.attempts[c]; len(a) != 1 || a[0] != 1 {
			if wrong++; wrong < 5 {
				t.Errorf("%s: attempts %v, want one delivery", c, a)
			}
		}
	}
	if wrong > 0 || n.total != len(contents) || n.overlaps > 0 {
		t.Errorf("%d of %d contents not delivered exactly once; %d deliveries, %d overlaps", wrong, len(contents), n.total, n.overlaps)
	}
}

func keysOf(topic message.Topic, slot int) protocol.SlotKeys {
	return protocol.KeysOf(topic.Name, slot)
}

// takeTurn takes a turn for a worker of the test's own.
func takeTurn(t testing.TB, rdb redis.UniversalClient, x *protocol.Turn) protocol.Answer {
	t.Helper()
	scripts := protocol.New(rdb)
	cmd := scripts.TurnCmd(ctx, x)
	scripts.Exec(ctx, cmd)
	answer, err := protocol.TurnAnswer(x, cmd)
	must.Do(t, err)
	return answer
}

// enter puts a worker of the test's own into the list of members of a topic.
func enter(t testing.TB, rdb redis.UniversalClient, topic message.Topic, worker string, ttl time.Duration) {
	t.Helper()
	scripts := protocol.New(rdb)
	cmd := scripts.MembersCmd(ctx, topic.Name, worker, ttl, true)
	scripts.Exec(ctx, cmd)
	must.Do(t, cmd.Err())
}

// wantEmpty returns when nothing of the topic waits, is in flight or is dead.
// (A batch is finished by the turn after its last handler.)
func wantEmpty(t testing.TB, rdb redis.UniversalClient, topic message.Topic) {
	t.Helper()
	for slot := range definition.Full(topic).Slots {
		k := keysOf(topic, slot)
		for _, key := range []string{k.Store, k.Prepare, k.Retry, k.Dead} {
			await.True(t, key+" is empty", func() bool { return rdb.ZCard(ctx, key).Val() == 0 })
		}
	}
}

// awaitDead returns what `why` tells about a content when it is dead.
func awaitDead(t testing.TB, rdb redis.UniversalClient, topic message.Topic, slot int, content string) protocol.Failure {
	t.Helper()
	k := keysOf(topic, slot)
	await.True(t, content+" is dead", func() bool { return rdb.ZScore(ctx, k.Dead, content).Err() == nil })
	why, ok := protocol.ParseFailure(rdb.HGet(ctx, k.Why, content).Val())
	if !ok {
		t.Errorf("no reason is kept why %s is dead", content)
	}
	return why
}

func slotOf(topic message.Topic, content string) int {
	return slots.Of(content, definition.Full(topic).Slots)
}
