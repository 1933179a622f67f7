package producer

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// uniques are a unique message of each kind.
var uniques = map[message.Kind]func(content string, unique time.Duration) message.Message{
	message.KindRangeMerge: func(content string, unique time.Duration) message.Message {
		return message.RangeMerge{Content: content, Range: time.Hour, Unique: unique}
	},
	message.KindPriority: func(content string, unique time.Duration) message.Message {
		return message.Priority{Content: content, Priority: 20, Unique: unique}
	},
	message.KindFixedTime: func(content string, unique time.Duration) message.Message {
		return message.FixedTime{Content: content, At: time.Now().Add(-time.Hour), Unique: unique}
	},
}

// A unique message keeps equal ones out, also when it is over; a cancel lets them in again.
func TestUnique(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		for kind, m := range uniques {
			for _, cfg := range []Config{{}, {ExactReceipts: true}, {MaxWaiting: 5}} {
				events := &seen{}
				cfg.Observers = []message.Observer{events}
				p, topic := newProducer(t, rdb, cfg), topicOf(t, kind)
				topic.Slots = 1
				send := func(want Outcome) {
					t.Helper()
					r := mustSend(t, p, topic, m("x", time.Hour))
					if r.Outcome != want || want == Duplicate && (!r.Due.IsZero() || r.Past) {
						t.Errorf("%v, %+v: %+v, want %v", kind, cfg, r, want)
					}
				}
				send(Stored)
				before := waiting(t, rdb, topic)["x"]
				events.lines()
				send(Duplicate)
				events.want(t, "duplicate x 0")
				if now := waiting(t, rdb, topic)["x"]; now != before {
					t.Errorf("%v: moved from %v to %v", kind, before, now)
				}
				rdb.Del(ctx, protocol.StoreKey(topic.Name, 0)) // it was handled
				send(Duplicate)
				receipts, err := p.SendBatch(ctx, topic, []message.Message{m("x", 0), m("x", time.Hour), m("y", time.Minute), m("z", 0), m("y", time.Hour)})
				if err != nil {
					t.Fatal(err)
				}
				for i, want := range []Outcome{Stored, Duplicate, Stored, Stored, Duplicate} {
					if receipts[i].Outcome != want {
						t.Errorf("%v, %+v, message %d: %+v", kind, cfg, i, receipts[i])
					}
				}
				until := rdb.ZScore(ctx, protocol.SeenKey(topic.Name, 0), "y").Val()
				if in := time.UnixMilli(int64(until)).Sub(rdb.Time(ctx).Val()); in > time.Minute+time.Millisecond || in < 30*time.Second {
					t.Errorf("%v: unique for %v", kind, in)
				}
				if rdb.ZScore(ctx, protocol.SeenKey(topic.Name, 0), "z").Err() != redis.Nil {
					t.Errorf("%v: z was never unique", kind)
				}
				if _, _, err := protocol.New(rdb).Cancel(ctx, protocol.KeysOf(topic.Name, 0), false, "x"); err != nil {
					t.Fatal(err)
				}
				send(Stored)
			}
		}
	})
}

// The answer of the first try is lost, and a worker handles the message before the second one: then
// nothing is stored again, and the sender does not learn that it was a duplicate of itself.
func TestUniqueAfterALostReply(t *testing.T) {
	t.Parallel()
	for kind, m := range uniques {
		t.Run(kind.String(), func(t *testing.T) {
			server := servertest.Redis(t)
			direct := server.Client(t)
			proxy := servertest.NewProxy(t, server.Addr())
			p, topic := newProducer(t, proxy.Client(t), Config{}), topicOf(t, kind)
			topic.Slots = 1
			mustSend(t, p, topic, m("first", time.Hour))
			p.idle.Wait()
			store := protocol.StoreKey(topic.Name, 0)
			lost := proxy.LoseNextReply("evalsha")
			tries := 0
			proxy.OnRequest(func(b []byte) bool {
				if strings.Contains(string(b), "evalsha") {
					if tries++; tries == 2 && direct.ZRem(ctx, store, "x").Val() != 1 {
						t.Error("the test did not do what it says")
					}
				}
				return true
			})
			r := mustSend(t, p, topic, m("x", time.Hour))
			<-lost
			if r.Outcome != Accepted || !r.Due.IsZero() {
				t.Errorf("%+v", r)
			}
			if got := direct.ZCard(ctx, store).Val(); got != 1 {
				t.Errorf("%d wait", got)
			}
			if r := mustSend(t, p, topic, m("x", time.Hour)); r.Outcome != Duplicate {
				t.Errorf("another send: %+v", r)
			}
		})
	}
}

// One batch has a message in a command that was executed, and is sent again behind an earlier one that was
// not. It has stored the message once, and does not learn that it was a duplicate.
func TestUniqueAcrossARetry(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	direct := server.Client(t)
	proxy := servertest.NewProxy(t, server.Addr())
	topic := topicOf(t, message.KindPriority)
	topic.Slots = 1
	p := newProducer(t, proxy.Client(t), Config{})
	m := func(content string) message.Message {
		return message.Priority{Content: content, SlotBasis: "s", Priority: 20, Unique: time.Hour}
	}
	mustSend(t, p, topic, m("before"))
	p.idle.Wait()
	big := strings.Repeat("b", 200<<10)
	var ms []message.Message
	for _, c := range "123456789abcdefghi" {
		ms = append(ms, m(string(c)+big))
	}
	ms = append(ms, m("x"))
	direct.ScriptFlush(ctx)
	pieces, again := 0, false
	proxy.OnRequest(func(b []byte) bool {
		if pieces++; pieces == 30 { // of 64 KiB at the most; the first command is 1 MiB long
			q := newProducer(t, direct, Config{}) // another producer brings the script back
			mustSend(t, q, message.Topic{Name: topic.Name + "q", Kind: topic.Kind, Slots: 1}, m("q"))
		}
		if !again && strings.Contains(string(b), "-- send: ") { // that command comes again, with the script
			again = true
			if direct.ZRem(ctx, protocol.StoreKey(topic.Name, 0), "x").Val() != 1 { // and a worker has handled x
				t.Error("the test did not do what it says")
			}
		}
		return true
	})
	receipts, err := p.SendBatch(ctx, topic, ms)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range receipts {
		if r.Outcome == Duplicate || i == len(ms)-1 && r.Outcome != Accepted {
			t.Errorf("message %d: %+v", i, r)
		}
	}
	if got := waiting(t, direct, topic); len(got) != len(ms) || got["x"] != 0 {
		t.Errorf("%d wait, x as %v", len(got), got["x"])
	}
}

// Two equal ones are sent again together, since neither was executed. The second is a duplicate all the same.
func TestUniqueAfterAForgottenScript(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		p, topic := newProducer(t, rdb, Config{ExactReceipts: true}), topicOf(t, message.KindPriority)
		m := uniques[message.KindPriority]
		mustSend(t, p, topic, m("before", time.Hour))
		if err := rdb.ScriptFlush(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		receipts, err := p.SendBatch(ctx, topic, []message.Message{m("x", time.Hour), m("x", time.Hour)})
		if err != nil || receipts[0].Outcome != Stored || receipts[1].Outcome != Duplicate {
			t.Errorf("%+v, %v", receipts, err)
		}
	})
}

// A duplicate wakes no worker.
func TestDuplicatesWakeNobody(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindRangeMerge)
	m := uniques[message.KindRangeMerge]
	mustSend(t, p, topic, m("x", time.Hour))
	p.idle.Wait()
	heard := rdb.Subscribe(ctx, protocol.WakeChannel(topic.Name))
	defer heard.Close()
	if _, err := heard.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	mustSend(t, p, topic, m("x", time.Hour))
	p.idle.Wait()
	rdb.Publish(ctx, protocol.WakeChannel(topic.Name), "the end")
	if news, err := heard.ReceiveMessage(ctx); err != nil || news.Payload != "the end" {
		t.Errorf("%v, %v", news, err)
	}
}
