package rmqotel

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
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// The one span of a handler links to the first and to the last of the sends that merged,
// and says how many there were. A content that was handled is forgotten.
func TestLinksOfMergedSends(t *testing.T) {
	t.Parallel()
	merged(t, servertest.SharedRedis(t).Client(t))
}

func TestLinksOfMergedSendsOnACluster(t *testing.T) {
	t.Parallel()
	merged(t, servertest.Cluster(t, 3, 0).Client(t))
}

func merged(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	ctx := context.Background()
	w := newWorld(t, rdb, rmq.Config{}, Config{Links: true, Contents: true})
	topic := rmq.Topic{Name: "prices", Kind: rmq.KindPriority, Slots: 8}
	for range 3 {
		w.send(topic, rmq.Priority{Content: "apple", Priority: 17})
	}
	w.send(topic, rmq.Priority{Content: "pear", Priority: 17})
	if _, err := w.client.SendBatch(ctx, topic, []rmq.Message{
		rmq.Priority{Content: "apple", Priority: 18}, rmq.Priority{Content: "plum", Priority: 17}, rmq.Priority{Content: "apple", Priority: 19},
	}); err != nil {
		t.Fatal(err)
	}
	handled := make(chan string, 3)
	w.listen(topic, rmq.ListenOptions{}, func(_ context.Context, d *rmq.Delivery) error {
		handled <- d.Content
		return nil
	})
	w.start()
	for range 3 {
		<-handled
	}
	w.close()

	dest := w.tel.destination(topic)
	sent, lists := w.ended("send "+dest), conventions(t)
	if len(sent) != 5 || sent[4].SpanKind() != trace.SpanKindProducer {
		t.Fatalf("%d spans of sends, the last %v", len(sent), sent[len(sent)-1].SpanKind())
	}
	for _, s := range w.ended("process " + dest) {
		set := holdSpan(t, lists, s)
		var want []sdktrace.ReadOnlySpan
		count := ""
		switch content := word(set, "messaging.message.id"); content {
		case "apple":
			want, count = []sdktrace.ReadOnlySpan{sent[0], sent[4]}, "5"
		case "pear":
			want, count = sent[3:4], "1"
		case "plum":
			want, count = sent[4:5], "1"
		default:
			t.Errorf("handled %q", content)
		}
		wantLinks(t, s, want...)
		if got := word(set, "messaging.rmq.message.merged"); got != count {
			t.Errorf("%s: %q sends merged, not %s", s.Name(), got, count)
		}
	}
	for slot := range topic.Slots {
		if left := rdb.HGetAll(ctx, protocol.TraceKey(dest, slot)).Val(); len(left) > 0 {
			t.Errorf("slot %d remembers %v", slot, left)
		}
	}
}

func wantLinks(t *testing.T, s sdktrace.ReadOnlySpan, want ...sdktrace.ReadOnlySpan) {
	t.Helper()
	var got, wanted []string
	for _, l := range s.Links() {
		got = append(got, l.SpanContext.TraceID().String()+l.SpanContext.SpanID().String())
	}
	for _, w := range want {
		wanted = append(wanted, w.SpanContext().TraceID().String()+w.SpanContext().SpanID().String())
	}
	if fmt.Sprint(got) != fmt.Sprint(wanted) {
		t.Errorf("%s %v links to %v, not %v", s.Name(), s.Attributes(), got, wanted)
	}
}

// A content that is sent again while its batch is in flight has two copies: each delivery
// links to its own sends, and forgets only these.
func TestLinksOfACopySentMeanwhile(t *testing.T) {
	t.Parallel()
	for try := 0; !linksOfACopy(t, fmt.Sprint("prices", try)); try++ { // where a machine stands still for a second
	}
}

// linksOfACopy reports whether both came in one batch, so that there was a copy.
func linksOfACopy(t *testing.T, name string) bool {
	w := newWorld(t, servertest.SharedRedis(t).Client(t), rmq.Config{}, Config{Links: true})
	topic := rmq.Topic{Name: name, Kind: rmq.KindPriority, Slots: 1}
	fences := make(chan int64, 3)
	w.listen(topic, rmq.ListenOptions{}, func(_ context.Context, d *rmq.Delivery) error {
		if d.Content == "first" {
			for range 2 {
				w.send(topic, rmq.Priority{Content: "apple", Priority: 17})
			}
		}
		fences <- d.Fence
		return nil
	})
	w.send(topic, rmq.Priority{Content: "first", Priority: 18})
	w.send(topic, rmq.Priority{Content: "apple", Priority: 17})
	w.start()
	if first, second := <-fences, <-fences; first != second {
		w.close()
		return false
	}
	<-fences
	w.close()
	dest := w.tel.destination(topic)
	sent, handled := w.ended("send "+dest), w.ended("process "+dest)
	if len(sent) != 4 || len(handled) != 3 {
		t.Fatalf("%d sent, %d handled", len(sent), len(handled))
	}
	wantLinks(t, handled[0], sent[0])
	wantLinks(t, handled[1], sent[1])
	wantLinks(t, handled[2], sent[2], sent[3])
	return true
}

// Under many sends of few contents at once, with handlers that fail, no handling links to a
// send that began after it.
func TestNoHandlingLinksToALaterSend(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, servertest.Redis(t).Client(t), rmq.Config{Backoff: rmq.Schedule(time.Millisecond)}, Config{Links: true, Contents: true})
	topic := rmq.Topic{Name: "prices", Kind: rmq.KindPriority, Slots: 2}
	var calls atomic.Int64
	w.listen(topic, rmq.ListenOptions{}, func(context.Context, *rmq.Delivery) error {
		if calls.Add(1)%7 == 0 {
			return errors.New("again")
		}
		return nil
	})
	w.start()
	const senders, sends, contents = 8, 150, 5
	var all sync.WaitGroup
	for sender := range senders {
		all.Go(func() {
			for i := range sends {
				if _, err := w.client.Send(ctx, topic, rmq.Priority{Content: fmt.Sprint("price ", (sender+i)%contents), Priority: 17}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	w.close()
	dest := w.tel.destination(topic)
	began := map[trace.SpanID]time.Time{}
	for _, s := range w.ended("send " + dest) {
		began[s.SpanContext().SpanID()] = s.StartTime()
	}
	handled := w.ended("process " + dest)
	linked := 0
	for _, s := range handled {
		for _, l := range s.Links() {
			switch at, ok := began[l.SpanContext.SpanID()]; {
			case !ok:
				t.Error("a link leads nowhere")
			case at.After(s.StartTime()):
				t.Errorf("a link leads to a send that began %v after the handling", at.Sub(s.StartTime()))
			}
			linked++
		}
	}
	if len(began) != senders*sends || linked < len(handled)/2 {
		t.Errorf("%d sends, %d handled, %d links", len(began), len(handled), linked)
	}
	t.Logf("%d sends, %d handled, %d links", len(began), len(handled), linked)
}

// A batch listener has one span, with links to the sends of all its messages.
func TestLinksOfABatchListener(t *testing.T) {
	t.Parallel()
	w := newWorld(t, servertest.SharedRedis(t).Client(t), rmq.Config{}, Config{Links: true})
	topic := rmq.Topic{Name: "pages", Kind: rmq.KindFixedTime, Slots: 1}
	past := time.Now().Add(-time.Minute)
	for _, content := range []string{"a", "b", "a", "c"} {
		w.send(topic, rmq.FixedTime{Content: content, At: past})
		past = past.Add(time.Second)
	}
	called := make(chan int, 2)
	w.must(w.client.ListenBatch(topic, rmq.BatchFunc(func(ctx context.Context, b *rmq.Batch) error {
		if !trace.SpanContextFromContext(ctx).IsValid() {
			t.Error("the handler is in no span")
		}
		called <- len(b.Messages)
		return nil
	}), rmq.BatchOptions{}))
	w.start()
	if n := <-called; n != 3 {
		t.Fatalf("called with %d messages", n)
	}
	w.close()
	dest := w.tel.destination(topic)
	sent, s := w.ended("send "+dest), w.only("process "+dest)
	wantLinks(t, s, sent[1], sent[0], sent[2], sent[3]) // b is due first, as a was sent again
	set := holdSpan(t, conventions(t), s)
	if word(set, "messaging.batch.message_count") != "3" || word(set, "messaging.rmq.message.merged") != "4" {
		t.Errorf("%v", set.ToSlice())
	}
	if n := w.sum("messaging.client.consumed.messages"); n != 3 {
		t.Errorf("%v were consumed", n)
	}
}

// In a batch, a message that the listener has named as failed, or wants later, keeps its links for
// the next delivery. The others are forgotten, also when the listener returns an error that ends
// them.
func TestLinksOfMessagesNamedInABatch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rdb := servertest.SharedRedis(t).Client(t)
	for how, returned := range map[string]error{"done": nil, "dead": rmq.Dead(errors.New("all others"))} {
		w := newWorld(t, rdb, rmq.Config{Namespace: "named" + how, Backoff: rmq.Schedule(time.Hour)}, Config{Links: true})
		topic := rmq.Topic{Name: "pages", Kind: rmq.KindFixedTime, Slots: 1}
		past := time.Now().Add(-time.Minute)
		for i, content := range []string{"other", "failed", "later", "dead", "again"} {
			w.send(topic, rmq.FixedTime{Content: content, At: past.Add(time.Duration(i) * time.Second)})
		}
		dest := w.tel.destination(topic)
		kept, alone := make(chan []string, 1), make(chan struct{})
		w.must(w.client.ListenBatch(topic, rmq.BatchFunc(func(ctx context.Context, b *rmq.Batch) error {
			if b.Attempt > 1 {
				kept <- rdb.HKeys(ctx, protocol.TraceKey(dest, 0)).Val()
				defer close(alone)
				return nil
			}
			b.Fail(1, errors.New("no"))
			b.Later(2, time.Hour)
			b.Dead(3, errors.New("never"))
			b.RetryAfter(4, time.Millisecond, errors.New("no"))
			return returned
		}), rmq.BatchOptions{}))
		w.start()
		all := <-kept
		slices.Sort(all)
		if !slices.Equal(all, []string{"again", "failed", "later"}) {
			t.Errorf("%s: %v is kept for the next delivery", how, all)
		}
		<-alone
		w.close()
		sent, handled := w.ended("send "+dest), w.ended("process "+dest)
		if len(handled) != 2 {
			t.Fatalf("%s: %d calls", how, len(handled))
		}
		wantLinks(t, handled[0], sent...)
		wantLinks(t, handled[1], sent[4])
		if n := rdb.HLen(ctx, protocol.TraceKey(dest, 0)).Val(); n != 2 {
			t.Errorf("%s: %d are kept when another was handled", how, n)
		}
	}
}

// A batch that goes to many slots is remembered in one round trip, also by a server that does not
// know the script, or knows it no more.
func TestLinksOfABatchToManySlots(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rdb := servertest.Redis(t).Client(t)
	w := newWorld(t, rdb, rmq.Config{}, Config{Links: true})
	topic := rmq.Topic{Name: "pages", Kind: rmq.KindPriority, Slots: 8}
	var batch []rmq.Message
	for i := range 2 * perScript {
		batch = append(batch, rmq.Priority{Content: fmt.Sprint("page ", i), Priority: 17})
	}
	for sends := 1; sends <= 2; sends++ {
		if _, err := w.client.SendBatch(ctx, topic, batch); err != nil {
			t.Fatal(err)
		}
		n := 0
		for slot := range topic.Slots {
			for content, kept := range rdb.HGetAll(ctx, protocol.TraceKey(w.tel.destination(topic), slot)).Val() {
				if got := sendsOf(kept, 1); got.count != int64(sends) {
					t.Errorf("%s was sent %d times, not %d", content, got.count, sends)
				}
				n++
			}
		}
		if n != len(batch) {
			t.Errorf("%d are remembered, not %d", n, len(batch))
		}
		w.must(rdb.ScriptFlush(ctx).Err())
	}
}

// What Send refuses is not remembered, nor what is very long; nor does it get a slot.
func TestLinksOfWhatIsNotSent(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rdb := servertest.Redis(t).Client(t)
	w := newWorld(t, rdb, rmq.Config{}, Config{Links: true})
	for _, topic := range []rmq.Topic{{Name: "a{b", Kind: rmq.KindPriority, Slots: 4}, {Name: "a", Kind: rmq.KindPriority, Slots: 3}, {}} {
		if _, err := w.client.Send(ctx, topic, rmq.Priority{Content: "x", Priority: 17}); !errors.Is(err, rmq.ErrInvalid) {
			t.Errorf("%+v: %v", topic, err)
		}
		if _, err := w.client.SendBatch(ctx, topic, []rmq.Message{rmq.Priority{Content: "x", Priority: 17}, nil}); !errors.Is(err, rmq.ErrInvalid) {
			t.Errorf("%+v: %v", topic, err)
		}
	}
	topic := rmq.Topic{Name: "a", Kind: rmq.KindPriority, Slots: 1}
	for _, m := range []rmq.Message{nil, rmq.Priority{}} {
		if _, err := w.client.Send(ctx, topic, m); !errors.Is(err, rmq.ErrInvalid) {
			t.Errorf("%v: %v", m, err)
		}
	}
	w.send(topic, rmq.Priority{Content: strings.Repeat("x", mostBytes+1), Priority: 17})
	if keys := rdb.Keys(ctx, "trace*").Val(); len(keys) != 0 {
		t.Errorf("there is %v", keys)
	}
	w.send(topic, rmq.Priority{Content: strings.Repeat("x", mostBytes), Priority: 17})
	if keys := rdb.Keys(ctx, "trace*").Val(); len(keys) != 1 {
		t.Errorf("there is %v", keys)
	}
}
