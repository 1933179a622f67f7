package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// A poison message dies alone: its neighbours in the slot are done once each.
func TestPoisonBesideGoodNeighbours(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for _, kind := range kinds {
		topic := topicOf(t, kind, 1)
		n := newNotes()
		work(t, rdb, Config{Backoff: verdict.Schedule(time.Millisecond)}, topic, n.around(func(_ context.Context, d *Delivery) error {
			if d.Content == "poison" {
				panic("poison")
			}
			return nil
		}))
		good := numbered("good", 100)
		newSender(t, rdb, topic).send(t, slices.Insert(slices.Clone(good), 50, "poison")...)
		awaitDead(t, rdb, topic, 0, "poison")
		n.awaitAll(t, good)
		n.mu.Lock()
		if !slices.Equal(n.attempts["poison"], seventeen()) {
			t.Errorf("%v: poison: %v", kind, n.attempts["poison"])
		}
		delete(n.attempts, "poison")
		n.total -= 17
		n.mu.Unlock()
		n.wantOnce(t, good)
	}
}

// After its timeout a handler's context is cancelled with ErrTimeout. If it
// returns nil all the same, the message is done. The one after it has a context
// and a timeout of its own.
func TestTimeoutOfEachMessage(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 1)
	n := newNotes()
	s := newSender(t, rdb, topic)
	work(t, rdb, Config{Timeout: 20 * time.Millisecond, hung: time.Hour}, topic, n.around(func(ctx context.Context, d *Delivery) error {
		deadline, ok := ctx.Deadline()
		if in := time.Until(deadline); !ok || in > 20*time.Millisecond {
			t.Errorf("%s: deadline %v (%v)", d.Content, in, ok)
		}
		if ctx.Err() != nil && time.Until(deadline) > 0 {
			t.Errorf("%s begins with %v", d.Content, context.Cause(ctx))
		}
		await.Signal(t, "the context is cancelled", ctx.Done())
		if !errors.Is(context.Cause(ctx), verdict.ErrTimeout) {
			t.Errorf("%s: cause %v", d.Content, context.Cause(ctx))
		}
		return nil
	}))
	contents := numbered("m", 6) // in one batch
	at := time.Now().Add(100 * time.Millisecond)
	var ms []message.Message
	for _, c := range contents {
		ms = append(ms, message.FixedTime{Content: c, At: at})
	}
	_, err := s.SendBatch(ctx, topic, ms)
	must.Do(t, err)
	n.awaitAll(t, contents)
	n.wantOnce(t, contents)
}

// A handler that ignores its context keeps its slot for twice its Timeout and the
// lease. Then the slot goes on without it. The hung one, when it wakes up,
// starts nothing of its batch, and what it reports is refused.
func TestHandlerThatIgnoresItsContext(t *testing.T) {
	t.Parallel()
	for _, parallel := range []bool{false, true} {
		t.Run(fmt.Sprint("parallel-", parallel), func(t *testing.T) {
			t.Parallel()
			rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 1)
			s := newSender(t, rdb, topic)
			n := newNotes()
			hung, release := make(chan struct{}), make(chan struct{})
			var once, opened sync.Once
			open := func() { opened.Do(func() { close(release) }) }
			t.Cleanup(open) // before the consumer is closed
			var mu sync.Mutex
			fences := map[string][]int64{}
			c := newConsumer(t, rdb, Config{Lease: time.Second, Backoff: verdict.Schedule(time.Millisecond), Concurrency: 2})
			must.Do(t, c.Listen(topic, n.around(func(ctx context.Context, d *Delivery) error {
				mu.Lock()
				fences[d.Content] = append(fences[d.Content], d.Fence)
				mu.Unlock()
				if d.Content == "m-0" && d.Attempt == 1 {
					once.Do(func() { close(hung) })
					<-release
				}
				return nil
			}), ListenOptions{Timeout: 50 * time.Millisecond, hung: 300 * time.Millisecond, Parallel: parallel}))
			contents := numbered("m", 6)
			at := time.Now().Add(100 * time.Millisecond)
			var ms []message.Message
			for _, c := range contents {
				ms = append(ms, message.FixedTime{Content: c, At: at})
			}
			_, err := s.SendBatch(ctx, topic, ms)
			must.Do(t, err)
			start(t, c)
			await.Signal(t, "a handler hangs", hung)
			later := append(contents, "later")
			s.send(t, "later")
			n.await(t, "the others are handled while it hangs", func() bool {
				for _, c := range later[1:] {
					if len(n.attempts[c]) == 0 {
						return false
					}
				}
				return len(n.attempts["m-0"]) == 2
			})
			await.True(t, "everything is done", func() bool { return rdb.ZCard(ctx, keysOf(topic, 0).Prepare).Val() == 0 })
			n.mu.Lock()
			before := n.total
			n.mu.Unlock()
			open()
			n.await(t, "no handler runs", func() bool { return n.running == 0 })
			s.send(t, "last")
			n.awaitAll(t, []string{"last"})
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.total != before+1 {
				t.Errorf("the hung one went on: %v", n.attempts)
			}
			if !slices.Equal(n.attempts["m-0"], []int{1, 2}) || fences["m-0"][1] <= fences["m-0"][0] {
				t.Errorf("attempts %v with fences %v", n.attempts["m-0"], fences["m-0"])
			}
			wantEmpty(t, rdb, topic)
		})
	}
}

// Close tells which handlers did not return. Their messages stay with this
// worker until its lease ends; then another handles them.
func TestCloseNamesHungHandlers(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 8)
	release := make(chan struct{})
	defer close(release)
	hung := make(chan *Delivery, 8)
	c, err := New(rdb, Config{Lease: time.Second, Backoff: verdict.Schedule(time.Millisecond)})
	must.Do(t, err)
	must.Do(t, c.Listen(topic, ListenerFunc(func(ctx context.Context, d *Delivery) error {
		hung <- &Delivery{Slot: d.Slot, Content: d.Content}
		<-release
		return nil
	}), ListenOptions{}))
	start(t, c)
	newSender(t, rdb, topic).send(t, "x")
	d := await.Signal(t, "it is handled", hung)
	over, cancel := context.WithCancel(ctx)
	cancel()
	err = c.Close(over)
	want := fmt.Sprintf("handlers did not return: %s slot %d", topic.Name, d.Slot)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("close: %v, want %q", err, want)
	}
	if again := c.Close(ctx); again == nil || again.Error() != err.Error() {
		t.Errorf("a second close: %v", again)
	}
	n := newNotes()
	work(t, rdb, Config{}, topic, n.done())
	n.awaitAll(t, []string{"x"})
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.attempts["x"], []int{2}) {
		t.Errorf("attempts %v", n.attempts["x"])
	}
}

// When the lease cannot be renewed, the handler learns of it though no answer
// ever comes: its context is cancelled while another worker cannot have its
// message yet.
func TestLeaseThatCannotBeRenewed(t *testing.T) {
	t.Parallel()
	server := servertest.SharedRedis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	rdb, topic := server.Client(t), topicOf(t, message.KindPriority, 1)
	s := newSender(t, rdb, topic)
	begun, lost := make(chan struct{}), make(chan error, 1)
	first := work(t, proxy.Client(t, impatient), Config{Lease: 3 * time.Second, Backoff: verdict.Schedule(time.Millisecond)}, topic, func(ctx context.Context, d *Delivery) error {
		if d.Attempt > 1 {
			return nil
		}
		close(begun)
		<-ctx.Done()
		lost <- context.Cause(ctx)
		return ctx.Err()
	})
	s.send(t, "x")
	await.Signal(t, "it is handled", begun)
	proxy.Freeze()
	if cause := await.Signal(t, "the handler is cancelled", lost); !errors.Is(cause, verdict.ErrLeaseLost) {
		t.Errorf("cause %v", cause)
	}
	n := newNotes()
	work(t, rdb, Config{Lease: time.Second}, topic, n.done())
	n.awaitAll(t, []string{"x"})
	proxy.Thaw()
	must.Do(t, closeIn(first, await.Patience))
	wantEmpty(t, rdb, topic)
}

// A handler that runs for much longer than the lease keeps its message while
// its worker lives.
func TestLongHandlerKeepsItsLease(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	n := newNotes()
	begun, release := make(chan struct{}), make(chan struct{})
	// A worker that stands still for seconds does not lose a lease of 9 s, of which 5 s are left when it renews it.
	work(t, rdb, Config{Lease: 9 * time.Second}, topic, n.around(func(ctx context.Context, d *Delivery) error {
		close(begun)
		select {
		case <-release:
		case <-ctx.Done():
			t.Errorf("cancelled: %v", context.Cause(ctx))
		}
		return nil
	}))
	newSender(t, rdb, topic).send(t, "x")
	await.Signal(t, "it is handled", begun)
	until := func() string { return rdb.HGet(ctx, keysOf(topic, 0).Meta, "until").Val() }
	for range 4 { // each renewal, after a third of the lease, moves its end
		last := until()
		await.True(t, "the lease is renewed", func() bool { return until() != last })
	}
	close(release)
	n.awaitAll(t, []string{"x"})
	await.True(t, "it is done", func() bool { return rdb.ZCard(ctx, keysOf(topic, 0).Prepare).Val() == 0 })
	n.wantOnce(t, []string{"x"})
}
