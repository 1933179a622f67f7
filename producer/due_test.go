package producer

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// A time that has passed is due now, alone and within a batch, however often it is
// sent, and the receipt says so.
func TestPastIsDueNow(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		p, topic := newProducer(t, rdb, Config{ExactReceipts: true}), topicOf(t, message.KindFixedTime)
		now := rdb.Time(ctx).Val().Truncate(time.Millisecond)
		order := message.FixedTime{Content: "order", At: now.Add(-time.Millisecond)}
		for _, want := range []Outcome{Stored, Merged, Merged} { // as after an outage
			r := mustSend(t, p, topic, order)
			if r.Outcome != want || !r.Past || !r.Due.Equal(order.At) {
				t.Errorf("got %+v", r)
			}
		}
		receipts, err := p.SendBatch(ctx, topic, []message.Message{
			message.FixedTime{Content: "late", At: now.Add(-time.Hour)},
			message.FixedTime{Content: "early", At: now.Add(time.Hour)},
			message.FixedTime{Content: "soon", In: time.Hour},
		})
		if err != nil || !receipts[0].Past || receipts[1].Past || receipts[2].Past {
			t.Errorf("got %+v, %v", receipts, err)
		}
		got := waiting(t, rdb, topic)
		if got["order"] != float64(order.At.UnixMilli()) || got["late"] != float64(now.Add(-time.Hour).UnixMilli()) || len(got) != 4 {
			t.Errorf("waiting: %v", got)
		}
	})
}

// What the listener would find too late is refused: by its MaxLate, as the definition has it.
func TestPastOfMaxLate(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindFixedTime)
		listens := func(most time.Duration) {
			_, errs := definition.AgreeAll(ctx, protocol.New(rdb), []string{topic.Name}, []definition.Listened{{Topic: topic, MaxLate: most}},
				definition.Sharing{Way: definition.SharingRedis})
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
		}
		now := rdb.Time(ctx).Val()
		past := message.FixedTime{Content: "past", At: now.Add(-time.Hour)}
		tooLate := func() {
			t.Helper()
			_, err := p.Send(await.Context(t), topic, past)
			wantInvalid(t, err, "At")
			if !errors.Is(err, ErrPast) || !strings.Contains(err.Error(), "at most 30m0s, the MaxLate of the topic's listener, before the server's clock") {
				t.Errorf("got %v", err)
			}
		}
		listens(30 * time.Minute)
		tooLate()
		_, err := p.SendBatch(await.Context(t), topic, []message.Message{message.FixedTime{Content: "x", In: time.Hour}, past})
		if !errors.Is(err, ErrPast) || !strings.Contains(err.Error(), "message 1") {
			t.Errorf("got %v", err)
		}
		if got := waiting(t, rdb, topic); len(got) != 0 {
			t.Errorf("waiting: %v", got)
		}
		past.At = now.Add(-29 * time.Minute)
		if r := mustSend(t, p, topic, past); r.Outcome != Stored || !r.Past {
			t.Errorf("got %+v", r)
		}
		past.At = now.Add(-time.Hour)
		if _, err := p.Send(checked.Sent(await.Context(t)), topic, past); err != nil { // a relay of an outbox
			t.Error(err)
		}
		for _, most := range []time.Duration{2 * time.Hour, 0} { // the producer was idle in between
			(*p.topics.known.Load())[topic].agreed.Store(1)
			listens(most)
			mustSend(t, p, topic, past)
			known := (*p.topics.known.Load())[topic]
			await.True(t, "the comparison is over", func() bool {
				known.mu.Lock()
				defer known.mu.Unlock()
				return known.comparing == nil
			})
			known.agreed.Store(0)
			must.Do(t, rdb.HDel(ctx, protocol.DefinitionKey(topic.Name), "maxlate").Err()) // 90 s go by
			listens(30 * time.Minute)
			tooLate()
		}
		// Redis does not say it any more.
		key := protocol.DefinitionKey(topic.Name)
		must.Do(t, rdb.Rename(ctx, key, key+"-away").Err())
		must.Do(t, rdb.Set(ctx, key, "of another program", 0).Err())
		(*p.topics.known.Load())[topic].agreed.Store(1)
		mustSend(t, p, topic, past)
	})
}

// The server that knows the MaxLate may hang, and be another than the message's: a send does not wait for it for long.
func TestPastWhileNobodyTells(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	p, topic := newProducer(t, proxy.Client(t, func(o *redis.Options) { o.ReadTimeout = 10 * await.Patience }), Config{}), topicOf(t, message.KindFixedTime)
	_, errs := definition.AgreeAll(ctx, protocol.New(server.Client(t)), []string{topic.Name}, []definition.Listened{{Topic: topic, MaxLate: 30 * time.Minute}},
		definition.Sharing{Way: definition.SharingRedis})
	must.Do(t, errs[0])
	past := message.FixedTime{Content: "past", At: server.Client(t).Time(ctx).Val().Add(-time.Hour)}
	if _, err := p.Send(await.Context(t), topic, past); !errors.Is(err, ErrPast) {
		t.Fatal(err)
	}
	hangs := make(chan struct{})
	defer close(hangs)
	proxy.OnRequest(func(b []byte) bool {
		if bytes.Contains(b, []byte(protocol.DefinitionKey(topic.Name))) {
			<-hangs
		}
		return true
	})
	known := (*p.topics.known.Load())[topic]
	known.agreed.Store(1) // 30 s go by
	_, err := p.Send(await.Context(t), topic, past)
	must.Do(t, err)
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.comparing == nil {
		t.Error("the question was answered")
	}
}

// With RefusePast the published rule holds: an error of its own, and nothing is stored.
func TestRefusePast(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, rdb *redis.Client) {
		p, topic := newProducer(t, rdb, Config{RefusePast: true}), topicOf(t, message.KindFixedTime)
		now := rdb.Time(ctx).Val()
		late := message.FixedTime{Content: "late", At: now.Add(-time.Minute)}
		_, err := p.Send(ctx, topic, late)
		wantInvalid(t, err, "At")
		if !errors.Is(err, ErrPast) || !strings.Contains(err.Error(), "after the server's clock") {
			t.Errorf("got %v", err)
		}
		_, err = p.SendBatch(ctx, topic, []message.Message{message.FixedTime{Content: "x", At: now.Add(time.Hour)}, late})
		if !errors.Is(err, ErrPast) || !strings.Contains(err.Error(), "message 1") {
			t.Errorf("got %v", err)
		}
		if got := waiting(t, rdb, topic); len(got) != 0 {
			t.Errorf("waiting: %v", got)
		}
		if r := mustSend(t, p, topic, message.FixedTime{Content: "x", At: now.Add(time.Hour)}); r.Past {
			t.Errorf("got %+v", r)
		}
	})
}

// Where the clock of the sender is 40 minutes wrong, what is due in some time is due
// then by the clock of the server, and a range merge as well.
func TestDueByTheServersClock(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{-40 * time.Minute, 40 * time.Minute} {
		memory, rdb := servertest.Memory(t)
		server := time.Now().Add(skew).Truncate(time.Millisecond)
		memory.SetTime(server)
		p := newProducer(t, rdb, Config{ExactReceipts: true})
		merge, fixed := topicOf(t, message.KindRangeMerge), topicOf(t, message.KindFixedTime)
		for topic, m := range map[message.Topic]message.Message{
			merge: message.RangeMerge{Content: "x", Range: 30 * time.Minute},
			fixed: message.FixedTime{Content: "x", In: 30 * time.Minute},
		} {
			r := mustSend(t, p, topic, m)
			due := time.UnixMilli(int64(waiting(t, rdb, topic)["x"]))
			// The producer's clock runs on, and that of the memory stands still.
			if late := due.Sub(server.Add(30 * time.Minute)); late < 0 || late > 30*time.Second || !r.Due.Equal(due) || r.Past {
				t.Errorf("skew %v: %s is due %v after 30 min, receipt %+v", skew, topic.Kind, late, r)
			}
		}
		if r := mustSend(t, p, merge, message.RangeMerge{Content: "x", Range: time.Hour}); r.Outcome != Merged || !r.Due.IsZero() {
			t.Errorf("merged: %+v", r)
		}
		// Another In takes the place of the first: it is rescheduled.
		r := mustSend(t, p, fixed, message.FixedTime{Content: "x", In: time.Hour})
		if due := time.UnixMilli(int64(waiting(t, rdb, fixed)["x"])); r.Outcome != Merged || !r.Due.Equal(due) || due.Before(server.Add(time.Hour)) {
			t.Errorf("rescheduled to %v: %+v", due, r)
		}
		if r := mustSend(t, p, fixed, message.FixedTime{Content: "y", At: server.Add(time.Minute)}); r.Past {
			t.Errorf("skew %v: %+v", skew, r)
		}
		if r := mustSend(t, p, fixed, message.FixedTime{Content: "z", At: server.Add(-time.Minute)}); !r.Past {
			t.Errorf("skew %v: %+v", skew, r)
		}
	}
}
