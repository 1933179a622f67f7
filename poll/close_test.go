package poll

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

// A topic closes when nobody takes for a while, and is not listed then; the next take opens it. Whoever waits keeps it
// open, however short that while is.
func TestTopicClosesWhenNobodyTakes(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 4, Notes: true})
	p := s.poller(Config{})
	p.idleAfter = time.Millisecond
	listed := func() int64 { return s.rdb.ZCard(ctx, protocol.TakersKey("orders")).Val() }
	for i := range 5 {
		content := fmt.Sprint("m", i)
		s.sends(content)
		h := s.take(p, Take{})
		s.has(h, content, 1)
		s.finish(p, h, true) // while it is open, or is not
		await.True(t, "the topic closes", func() bool { return p.topics.opened("orders") == nil && listed() == 0 })
		waiting := s.waits(p, Take{Wait: await.Patience})
		if n := listed(); n != 1 {
			t.Errorf("%d are listed", n)
		}
		after(t, s, 20*time.Millisecond)
		s.sends("waited for")
		h = <-waiting
		s.has(h, "waited for", 1)
		s.finish(p, h, true)
	}
}

// Desks close and open all the time while many take: nobody waits at one that has closed, and nothing is lost.
func TestTakersComeWhileTopicsClose(t *testing.T) {
	t.Parallel()
	const messages = 300
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 4})
	p := s.poller(Config{})
	p.idleAfter = time.Microsecond
	s.sends("makes the topic")
	var done atomic.Int64
	over, stop := context.WithCancel(await.Context(t))
	defer stop()
	var working sync.WaitGroup
	for range 2 {
		working.Go(func() {
			for over.Err() == nil {
				h, err := p.Take(over, []string{"orders"}, Take{Wait: await.Patience}) // it would be long in a queue that has ended
				if err != nil && over.Err() == nil {
					t.Error(err)
				}
				if h == nil {
					continue
				}
				s.finish(p, h, true)
				if done.Add(1) == messages+1 {
					stop()
				}
			}
		})
	}
	for i := range messages {
		s.sends(fmt.Sprint("m", i))
	}
	working.Wait()
	if n := done.Load(); n != messages+1 {
		t.Errorf("%d are done", n)
	}
}

// While a limit counts batches that are out, the topic stays open: another one would not know of them.
func TestTopicStaysOpenWhileALimitCounts(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 4})
	s.sends(numbered("m", 20)...)
	s.limits(1, 0)
	p := s.poller(Config{})
	p.idleAfter = time.Millisecond
	h := s.take(p, Take{TTR: time.Hour})
	topic := p.topics.opened("orders")
	for range 10 {
		after(t, s, 2*time.Millisecond)
		s.nothing(p)
	}
	if p.topics.opened("orders") != topic {
		t.Error("it was opened again")
	}
	s.finish(p, h, true)
	await.True(t, "the topic closes", func() bool { return p.topics.opened("orders") != topic })
}

// Close is bounded while Redis is away, whatever is under way: a topic that opens, takers who wait, a batch to be given
// back, a finish. It says what may stay.
func TestCloseWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	for _, opened := range []bool{false, true} {
		t.Run(fmt.Sprint("opened ", opened), func(t *testing.T) {
			t.Parallel()
			s, proxy := behindProxy(t, message.Topic{Kind: message.KindPriority, Slots: 4})
			s.sends("x", "y", "z")
			p := s.poller(Config{})
			var h *Held
			if opened {
				h = s.take(p, Take{TTR: time.Hour})
			}
			proxy.Freeze()
			errs := make(chan error)
			calls := 3
			for range calls {
				go func() {
					h, err := p.Take(ctx, []string{"orders"}, Take{Wait: time.Hour, TTR: time.Second})
					if h != nil {
						err = errors.New("it has something")
					}
					errs <- err
				}()
			}
			if opened {
				calls++
				go func() {
					_, err := p.Finish(await.Context(t), h.Receipt)
					errs <- err
				}()
			}
			await.True(t, "they are under way", func() bool {
				if !opened {
					p.topics.mu.Lock()
					defer p.topics.mu.Unlock()
					return p.topics.all["orders"] != nil
				}
				topic := p.topics.opened("orders")
				return topic.queue.length() == 3
			})
			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			if err := p.Close(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			proxy.Thaw()
			for range calls {
				if err := <-errs; opened == (err == nil) && !errors.Is(err, message.ErrClosed) && err != nil {
					t.Error(err)
				}
			}
			other := s.poller(Config{})
			got := map[string]bool{}
			for len(got) < 2 {
				h := s.take(other, Take{})
				got[h.Messages[0].Content] = true
				s.finish(other, h, true)
			}
		})
	}
}

// A closed poller says so.
func TestClosedPoller(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	s.sends("x")
	p := s.poller(Config{})
	h := s.take(p, Take{})
	for range 2 {
		must.Do(t, p.Close(ctx))
	}
	_, taken := p.Take(ctx, []string{"orders"}, Take{})
	_, finished := p.Finish(ctx, h.Receipt)
	_, extended := p.Extend(ctx, h.Receipt)
	for _, err := range []error{taken, finished, extended} {
		if !errors.Is(err, message.ErrClosed) {
			t.Error(err)
		}
	}
}

// Close waits for calls that are under way, and for their observers.
func TestCloseWaitsForCalls(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	s.sends("x")
	reached, goOn := make(chan struct{}), make(chan struct{})
	p := s.poller(Config{Observers: []message.Observer{message.ObserverFunc(func(e *message.Event) {
		if e.Items[0].What == message.Done {
			close(reached)
			<-goOn
		}
	})}})
	h := s.take(p, Take{})
	var finishing sync.WaitGroup
	finishing.Go(func() { s.finish(p, h, true) })
	<-reached
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := p.Close(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("closed: %v", err)
	}
	close(goOn)
	finishing.Wait()
}
