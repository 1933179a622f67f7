package producer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// The network is cut again and again while many send. Whatever was answered
// without an error is stored; whatever was refused for certain is not; the rest
// is told as uncertain.
func TestConnectionCutInTheMiddle(t *testing.T) {
	t.Parallel()
	const senders, each = 16, 300
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	p := newProducer(t, proxy.Client(t), Config{})
	p.retryFor = 200 * time.Millisecond
	topic := message.Topic{Name: "cut", Kind: message.KindPriority}
	mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})

	var mu sync.Mutex
	sent, refusals, doubts := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var all sync.WaitGroup
	progress := make(chan struct{}, senders*each)
	for sender := range senders {
		all.Go(func() {
			for n := range each {
				content := fmt.Sprintf("%d/%d", sender, n)
				_, err := p.Send(ctx, topic, message.Priority{Content: content, Priority: 17})
				mu.Lock()
				switch {
				case err == nil:
					sent[content] = true
				case errors.Is(err, ErrUncertain):
					doubts[content] = true
				default:
					refusals[content] = true
				}
				mu.Unlock()
				progress <- struct{}{}
			}
		})
	}
	go func() { all.Wait(); close(progress) }()
	done := 0
	for range progress {
		switch done++; {
		case done%1200 == 600: // cut until every sender has failed or nearly so
			proxy.Cut()
		case done%1200 == 600+2*senders:
			proxy.Mend()
		case done%400 == 0: // cut for a moment: the sends are repeated
			proxy.Cut()
			proxy.Mend()
		}
	}
	got := waiting(t, server.Client(t), topic)
	for c := range sent {
		if _, stored := got[c]; !stored {
			t.Errorf("%s was acknowledged and is lost", c)
		}
	}
	for c := range refusals {
		if _, stored := got[c]; stored {
			t.Errorf("%s was refused for certain and is stored", c)
		}
	}
	t.Logf("%d sent, %d refused, %d uncertain", len(sent), len(refusals), len(doubts))
	if len(sent)+len(refusals)+len(doubts) != senders*each || len(doubts) == 0 {
		t.Error("a send got lost on the way, or nothing was ever in doubt")
	}
}

// The write reaches Redis and every reply is lost, also of the repetitions.
func TestLostRepliesAreUncertain(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	rdb := proxy.Client(t, func(o *redis.Options) { o.ReadTimeout = 100 * time.Millisecond })
	p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindPriority)
	p.retryFor = 500 * time.Millisecond
	await.Nil(t, "the first is sent", func() error {
		_, err := p.Send(ctx, topic, message.Priority{Content: "first", Priority: 17})
		return err
	})
	p.idle.Wait() // for the wake-up of the first
	proxy.DropReplies(true)
	await.True(t, "the message reaches Redis", func() bool { // or a busy machine does not let it pass in time
		if _, err := p.Send(ctx, topic, message.Priority{Content: "doubtful", Priority: 17}); !errors.Is(err, ErrUncertain) {
			t.Fatalf("got %v, want ErrUncertain", err)
		}
		_, stored := waiting(t, server.Client(t), topic)["doubtful"]
		return stored
	})
	proxy.DropReplies(false)
	p.idle.Wait()
	p.retryFor = retryFor
	if r := mustSend(t, p, topic, message.Priority{Content: "doubtful", Priority: 18}); r.Outcome != Merged {
		t.Errorf("sent again: %v", r.Outcome)
	}
}

// One reply is lost: the send is repeated and succeeds.
func TestOneLostReplyIsRepeated(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	p, topic := newProducer(t, proxy.Client(t), Config{}), topicOf(t, message.KindRangeMerge)
	mustSend(t, p, topic, message.RangeMerge{Content: "first", Range: time.Hour})
	lost := proxy.LoseNextReply("zadd")
	mustSend(t, p, topic, message.RangeMerge{Content: "x", Range: time.Hour})
	<-lost
	if _, stored := waiting(t, server.Client(t), topic)["x"]; !stored {
		t.Error("not stored")
	}
}

// A server that is not there is a definite refusal, never a doubt.
func TestUnreachableRedisIsCertain(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	impatient := func(o *redis.Options) { o.DialerRetries, o.MaxRetries = 1, -1 }
	p, topic := newProducer(t, server.Client(t, impatient), Config{}), topicOf(t, message.KindPriority)
	p.retryFor = 500 * time.Millisecond
	mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})
	server.Kill()
	// The pooled connection breaks first, which is a doubt about the message it
	// carried; after it, nothing can be written any more.
	_, _ = p.Send(ctx, topic, message.Priority{Content: "carried", Priority: 17})
	_, err := p.Send(ctx, topic, message.Priority{Content: "x", Priority: 17})
	if err == nil || errors.Is(err, ErrUncertain) {
		t.Errorf("got %v, want a definite error", err)
	}
	fresh := newProducer(t, server.Client(t, impatient), Config{})
	fresh.retryFor = p.retryFor
	if _, err := fresh.Send(ctx, topic, message.Priority{Content: "x", Priority: 17}); err == nil || errors.Is(err, ErrUncertain) {
		t.Errorf("first send: got %v, want a definite error", err)
	}
	server.Restart(t)
	p.idle.Wait()
	p.retryFor = retryFor // after many dials that failed, the pool of the client dials once a second
	mustSend(t, p, topic, message.Priority{Content: "y", Priority: 17})
}

// A context that ends before the write withdraws the message; one that ends
// after it leaves a doubt.
func TestCancelledContexts(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	p, topic := newProducer(t, proxy.Client(t), Config{}), topicOf(t, message.KindPriority)
	mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})

	p.idle.Wait() // for the wake-up of the first
	over, end := context.WithCancel(ctx)
	end()
	if _, err := p.Send(over, topic, message.Priority{Content: "before", Priority: 17}); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUncertain) {
		t.Errorf("cancelled before: %v", err)
	}

	// The first is written and not answered; the second waits behind it.
	written := make(chan struct{})
	var once sync.Once
	proxy.OnRequest(func(b []byte) bool {
		once.Do(func() { close(written) })
		return true
	})
	proxy.DropReplies(true)
	first, cancelFirst := context.WithCancel(ctx)
	second, cancelSecond := context.WithCancel(ctx)
	errs := make([]chan error, 2)
	for i, c := range []context.Context{first, second} {
		errs[i] = make(chan error, 1)
		go func() {
			_, err := p.Send(c, topic, message.Priority{Content: strconv.Itoa(i), Priority: 17})
			errs[i] <- err
		}()
		if i == 0 {
			<-written
		} else {
			await.True(t, "the next flight is open", p.queued) // until the second is in the open flight
		}
	}
	cancelSecond()
	if err := <-errs[1]; !errors.Is(err, context.Canceled) || errors.Is(err, ErrUncertain) {
		t.Errorf("cancelled before the write: %v", err)
	}
	cancelFirst()
	if err := <-errs[0]; !errors.Is(err, context.Canceled) || !errors.Is(err, ErrUncertain) {
		t.Errorf("cancelled after the write: %v", err)
	}
	proxy.DropReplies(false)
	proxy.Cut() // ends the wait for the lost reply; the producer repeats the write
	proxy.Mend()
	mustSend(t, p, topic, message.Priority{Content: "last", Priority: 17})
	got := waiting(t, server.Client(t), topic)
	if _, stored := got["1"]; stored || got["0"] != 17 || got["last"] != 17 {
		t.Errorf("waiting: %v", got)
	}
}

func (p *Producer) queued() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, to := range p.writers.all {
		if len(to.queue) > 0 {
			return true
		}
	}
	return false
}

// Above maxmemory a send is refused for certain, with the server's words.
func TestFullRedisRefuses(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb := server.Client(t)
	p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindPriority)
	mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})
	rdb.ConfigSet(ctx, "maxmemory", "1")
	_, err := p.Send(ctx, topic, message.Priority{Content: "x", Priority: 17})
	if !redis.HasErrorPrefix(errors.Unwrap(err), "OOM") || errors.Is(err, ErrUncertain) {
		t.Errorf("got %v, want a definite OOM", err)
	}
	rdb.ConfigSet(ctx, "maxmemory", "0")
	mustSend(t, p, topic, message.Priority{Content: "x", Priority: 17})
}

// A wrong type under one store fails the messages of that slot only.
func TestBatchErrorNamesTheIndexes(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{}), message.Topic{Name: "half", Kind: message.KindPriority, Slots: 2}
	a, b := "a", "b"
	bad := mustSend(t, p, topic, message.Priority{Content: a, Priority: 17}).Slot
	for i := 0; mustSend(t, p, topic, message.Priority{Content: b, Priority: 17}).Slot == bad; i++ {
		b = "b" + strconv.Itoa(i)
	}
	rdb.Set(ctx, "half_"+strconv.Itoa(bad), "not a sorted set", 0)
	receipts, err := p.SendBatch(ctx, topic, []message.Message{
		message.Priority{Content: b, Priority: 17}, message.Priority{Content: a, Priority: 17}, message.Priority{Content: b + "2", SlotBasis: b, Priority: 17},
	})
	var failed *message.BatchError
	if !errors.As(err, &failed) || len(failed.Indexes) != 1 || failed.Indexes[0] != 1 || !redis.HasErrorPrefix(failed.Errs[0], "WRONGTYPE") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(err.Error(), "half_"+strconv.Itoa(bad)+" is not of the type") {
		t.Errorf("the key is not named: %v", err)
	}
	if receipts[0].Slot == bad || receipts[2].Outcome == Merged {
		t.Errorf("receipts of the others: %v", receipts)
	}
}

// A send that is a script names the key that has a wrong type, which need not be the store.
func TestSendNamesAKeyOfAWrongType(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{}), message.Topic{Name: "noted", Kind: message.KindPriority, Slots: 1, Notes: true}
	must.Do(t, rdb.Set(ctx, protocol.NoteKey(topic.Name, 0), "of another program", 0).Err())
	_, err := p.Send(ctx, topic, message.Priority{Content: "x", Priority: 17})
	if err == nil || !strings.Contains(err.Error(), "note{noted_0} is not of the type") {
		t.Errorf("%v", err)
	}
}

// Forgotten scripts are sent again in the middle of a pipeline.
func TestForgottenScripts(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{}), message.Topic{Name: "literal", Kind: message.KindRangeMerge, Literal: true}
	for n := range 50 {
		if err := rdb.ScriptFlush(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		var ms []message.Message
		for i := range 40 {
			ms = append(ms, message.RangeMerge{Content: fmt.Sprintf("%d/%d", n, i), Range: time.Hour})
		}
		if _, err := p.SendBatch(ctx, topic, ms); err != nil {
			t.Fatal(err)
		}
	}
	if got := waiting(t, rdb, topic); len(got) != 50*40 {
		t.Errorf("%d are waiting", len(got))
	}
}
