package producer

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

func TestTopicConflict(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		topic := topicOf(t, message.KindPriority)
		mustSend(t, newProducer(t, rdb, Config{}), topic, message.Priority{Content: "x", Priority: 17})
		other := newProducer(t, rdb, Config{})
		for field, change := range map[string]func(*message.Topic){
			"Kind":    func(o *message.Topic) { o.Kind = message.KindFixedTime },
			"Slots":   func(o *message.Topic) { o.Slots = 8 },
			"Literal": func(o *message.Topic) { o.Literal = true },
			"Notes":   func(o *message.Topic) { o.Notes = true },
		} {
			changed := topic
			change(&changed)
			var m message.Message = message.Priority{Content: "y", Priority: 17}
			if changed.Kind == message.KindFixedTime {
				m = message.FixedTime{Content: "y", At: time.Now().Add(time.Hour)}
			}
			_, err := other.Send(ctx, changed, m)
			if !errors.Is(err, message.ErrTopicConflict) || !strings.Contains(err.Error(), field+" is") {
				t.Errorf("%s differs: %v", field, err)
			}
		}
		if got := waiting(t, rdb, topic); len(got) != 1 {
			t.Errorf("waiting: %v", got)
		}
		if !rdb.SIsMember(ctx, protocol.TopicsKey, topic.Name).Val() {
			t.Error("the topic is not in the list of all")
		}
	})
}

// Two namespaces and topics of one qualified name never meet, and whoever comes second
// is told both.
func TestNamespacesDoNotMeet(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		name := topicOf(t, message.KindPriority).Name
		topic := func(name string) message.Topic {
			return message.Topic{Name: name, Kind: message.KindPriority, Slots: 4}
		}
		short, long := newProducer(t, rdb, Config{Namespace: name}), newProducer(t, rdb, Config{Namespace: name + ":b"})
		one := message.Priority{Content: "x", Priority: 17}
		mustSend(t, short, topic("b:c"), one)
		for p, other := range map[*Producer]string{long: "c", newProducer(t, rdb, Config{}): name + ":b:c"} {
			_, err := p.Send(ctx, topic(other), message.Priority{Content: "y", Priority: 17})
			if !errors.Is(err, message.ErrTopicConflict) {
				t.Errorf("topic %s: %v", other, err)
			} else if !strings.Contains(err.Error(), strconv.Quote(other)) || !strings.Contains(err.Error(), `"b:c" in namespace "`+name+`" in Redis`) {
				t.Errorf("topic %s: %v does not name both", other, err)
			}
		}
		if got := waiting(t, rdb, topic(name+":b:c")); len(got) != 1 {
			t.Errorf("waiting: %v", got)
		}
		// A definition of an older program takes the namespace of the first who agrees.
		mustSend(t, long, topic("d"), one)
		rdb.HDel(ctx, protocol.DefinitionKey(name+":b:d"), "namespace")
		if _, err := newProducer(t, rdb, Config{Namespace: name + ":b"}).Send(ctx, topic("d"), one); err != nil {
			t.Error(err)
		}
		if _, err := short.Send(ctx, topic("b:d"), one); !errors.Is(err, message.ErrTopicConflict) {
			t.Errorf("after an older program: %v", err)
		}
	})
}

// A topic that leaves the number of slots open has the one of the definition, and 64
// if it is new. A definition that was written when the default was another one, 16,
// stays good for a program that never said any.
func TestSlotsLeftOpen(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		for _, stored := range []int{16, 8, 65536, 0} {
			topic := topicOf(t, message.KindPriority)
			want := stored
			if topic.Slots = stored; stored > 0 {
				mustSend(t, newProducer(t, rdb, Config{}), topic, message.Priority{Content: "first", Priority: 17})
			} else {
				want = 64
			}
			p := newProducer(t, rdb, Config{})
			topic.Slots = 0
			for i := range 20 {
				content := strconv.Itoa(i)
				if r := mustSend(t, p, topic, message.Priority{Content: content, Priority: 17}); r.Slot != slots.Of(content, want) {
					t.Errorf("%s is in slot %d, want %d of %d", content, r.Slot, slots.Of(content, want), want)
				}
			}
			if held := rdb.HGet(ctx, protocol.DefinitionKey(topic.Name), "slots").Val(); held != strconv.Itoa(want) {
				t.Errorf("defined with %s slots, want %d", held, want)
			}
			topic.Kind = message.KindRangeMerge
			_, err := p.Send(ctx, topic, message.RangeMerge{Content: "x", Range: time.Hour})
			if !errors.Is(err, message.ErrTopicConflict) || strings.Contains(err.Error(), "Slots is") {
				t.Errorf("another kind, slots left open: %v", err)
			}
		}
	})
}

// The look every 30 s finds a definition that was changed behind the
// producer's back, and writes one that is missing.
func TestDefinitionIsComparedAgain(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindPriority)
	send := func() error {
		_, err := p.Send(ctx, topic, message.Priority{Content: "x", Priority: 17})
		return err
	}
	later := func() { (*p.topics.known.Load())[topic].agreed.Store(1) }
	if err := send(); err != nil {
		t.Fatal(err)
	}
	key := protocol.DefinitionKey(topic.Name)
	rdb.Del(ctx, key)
	later()
	err := send()
	p.background.Wait() // for the comparison, which the send began
	if err != nil || rdb.HGet(ctx, key, "slots").Val() != "4" {
		t.Errorf("after it was deleted: %v, slots %s", err, rdb.HGet(ctx, key, "slots").Val())
	}
	rdb.HSet(ctx, key, "slots", 64)
	later()
	if err := send(); err != nil {
		t.Errorf("a send waits for the comparison: %v", err)
	}
	p.background.Wait()
	for range 2 {
		if err := send(); !errors.Is(err, message.ErrTopicConflict) {
			t.Errorf("after it was changed: %v", err)
		}
	}
	rdb.HSet(ctx, key, "slots", 4)
	if err := send(); err != nil {
		t.Errorf("after it was mended: %v", err)
	}
}

// A wake-up names the slots and when the earliest of each is due, and comes
// when the messages are there.
func TestWakeUps(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindFixedTime)
	sub := rdb.Subscribe(ctx, protocol.WakeChannel(topic.Name))
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(time.Hour)
	receipts, err := p.SendBatch(ctx, topic, []message.Message{
		message.FixedTime{Content: "late", SlotBasis: "basis", At: at.Add(time.Hour)},
		message.FixedTime{Content: "soon", SlotBasis: "basis", At: at},
	})
	if err != nil {
		t.Fatal(err)
	}
	note, err := sub.ReceiveMessage(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(waiting(t, rdb, topic)) != 2 {
		t.Error("the wake-up came before the messages")
	}
	woken := 0
	protocol.ParseWake(note.Payload, func(slot int, in time.Duration) {
		woken++
		if slot != receipts[0].Slot || in > time.Hour+time.Second || in < time.Hour-time.Minute {
			t.Errorf("slot %d in %v", slot, in)
		}
	})
	if woken != 1 {
		t.Errorf("payload %q", note.Payload)
	}
}

func TestDurability(t *testing.T) {
	t.Parallel()
	master := servertest.Redis(t, "--repl-diskless-sync-delay", "0")
	host, port, _ := strings.Cut(master.Addr(), ":")
	replica := servertest.Redis(t, "--replicaof", host+" "+port)
	rdb := master.Client(t, func(o *redis.Options) { o.ReadTimeout = time.Hour })
	await.True(t, "the replica is in step", func() bool { return strings.Contains(rdb.Info(ctx, "replication").Val(), "state=online") })
	p := newProducer(t, rdb, Config{Durability: Durability{Replicas: 1, Timeout: await.Patience}})
	topic := message.Topic{Name: "durable", Kind: message.KindPriority}
	mustSend(t, p, topic, message.Priority{Content: "x", Priority: 17})
	if got := waiting(t, replica.Client(t), topic); got["x"] != 17 {
		t.Errorf("on the replica: %v", got)
	}
	replica.Pause()
	defer replica.Resume()
	p = newProducer(t, rdb, Config{Durability: Durability{Replicas: 1, Timeout: 50 * time.Millisecond}})
	r, err := p.Send(ctx, topic, message.Priority{Content: "y", Priority: 17})
	if !errors.Is(err, ErrNotReplicated) || errors.Is(err, ErrUncertain) || r.Outcome != Stored {
		t.Errorf("with the replica paused: %v, %v", r, err)
	}
	if got := waiting(t, rdb, topic); got["y"] != 17 {
		t.Errorf("on the master: %v", got)
	}
}

// WAIT speaks of what its connection has written before. So behind a script that
// the server did not know and gets a second time, there must be another WAIT.
func TestWaitIsBehindTheLastWrite(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	p := newProducer(t, proxy.Client(t), Config{Durability: Durability{Replicas: 1, Timeout: 10 * time.Millisecond}})
	topic := message.Topic{Name: "literal", Kind: message.KindRangeMerge, Literal: true}
	var mu sync.Mutex
	var told strings.Builder
	proxy.OnRequest(func(b []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		told.Write(b)
		return true
	})
	if _, err := p.Send(ctx, topic, message.RangeMerge{Content: "x", Range: time.Hour}); !errors.Is(err, ErrNotReplicated) {
		t.Errorf("without any replica: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	write := strings.LastIndex(told.String(), "\r\neval\r\n")
	if wait := strings.LastIndex(told.String(), "\r\nwait\r\n"); write < 0 || wait < write {
		t.Errorf("the script at %d, WAIT at %d", write, wait)
	}
}

// A wake-up is not lost when the flight that should carry it has nothing to
// write, because its only message was withdrawn.
func TestWakeUpOfAnEmptyFlight(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	p, topic := newProducer(t, proxy.Client(t), Config{}), topicOf(t, message.KindPriority)
	mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})
	p.idle.Wait()
	for _, to := range p.writers.all {
		to.lastPublished = time.Now().Add(time.Hour) // a moment ago, so the next wake-up waits for a later write
	}
	sub := server.Client(t).Subscribe(ctx, protocol.WakeChannel(topic.Name))
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	// The next flight is held while a second is opened and its message withdrawn.
	written := make(chan struct{})
	var once sync.Once
	proxy.OnRequest(func(b []byte) bool {
		once.Do(func() { close(written) })
		return true
	})
	proxy.Freeze()
	sent := make(chan error, 1)
	go func() {
		_, err := p.Send(ctx, topic, message.Priority{Content: "announced", Priority: 17})
		sent <- err
	}()
	await.True(t, "the flusher has a flight", p.taking)
	short, cancel := context.WithCancel(ctx)
	withdrawn := make(chan error, 1)
	go func() {
		_, err := p.Send(short, topic, message.Priority{Content: "withdrawn", Priority: 17})
		withdrawn <- err
	}()
	await.True(t, "the next flight is open", p.queued)
	cancel()
	if err := <-withdrawn; !errors.Is(err, context.Canceled) {
		t.Errorf("withdrawn: %v", err)
	}
	proxy.Thaw()
	<-written
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if _, err := sub.ReceiveMessage(ctx); err != nil {
		t.Fatal(err)
	}
}

// taking reports whether the flusher has a flight in hand and none waits.
func (p *Producer) taking() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, to := range p.writers.all {
		if to.flushing && len(to.queue) == 0 {
			return true
		}
	}
	return false
}
