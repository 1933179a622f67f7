package poll

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// ledger checks that the batches of a slot follow one another: none begins while another one is held, and each has a
// larger number.
type ledger struct {
	testing.TB
	mu    sync.Mutex
	held  map[int]int64 // by slot: the number of the batch that is held
	last  map[int]int64
	done  map[string]int
	all   chan struct{} // closed when so many are done
	until int
}

func newLedger(t testing.TB, messages int) *ledger {
	return &ledger{TB: t, held: map[int]int64{}, last: map[int]int64{}, done: map[string]int{}, all: make(chan struct{}), until: messages}
}

func (l *ledger) begin(slot int, fence int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other, is := l.held[slot]; is && other != fence {
		l.Errorf("slot %d: batch %d begins while %d is held", slot, fence, other)
	}
	if fence < l.last[slot] {
		l.Errorf("slot %d: batch %d comes after %d", slot, fence, l.last[slot])
	}
	l.held[slot], l.last[slot] = fence, fence
}

// end notes that a batch is about to be given up, and what of it is done.
func (l *ledger) end(slot int, done ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, slot)
	for _, c := range done {
		if l.done[c]++; l.done[c] > 1 {
			l.Errorf("%s is done twice", c)
		}
		if len(l.done) == l.until {
			close(l.all)
		}
	}
}

// Listeners and takers of two processes each work at one topic. Some deliveries fail, some are put back, some takes are
// given up: all is done once, and the batches of a slot come one after the other.
func TestListenersAndTakersAtOneTopic(t *testing.T) {
	t.Parallel()
	const messages, slots = 600, 4
	rng := sharetest.Rand(t)
	chance := make(chan int, messages) // rng is for one goroutine
	over, stop := context.WithCancel(await.Context(t))
	defer stop()
	go func() {
		for {
			select {
			case chance <- rng.IntN(100):
			case <-over.Done():
				return
			}
		}
	}()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: slots})
	l := newLedger(t, messages)
	for range 2 {
		c, err := consumer.New(s.rdb, consumer.Config{Backoff: verdict.Schedule(time.Millisecond)})
		must.Do(t, err)
		must.Do(t, c.Listen(s.topic, consumer.ListenerFunc(func(_ context.Context, d *consumer.Delivery) error {
			l.begin(d.Slot, d.Fence)
			if <-chance < 20 {
				l.end(d.Slot)
				return errors.New("once more")
			}
			l.end(d.Slot, d.Content)
			return nil
		}), consumer.ListenOptions{}))
		must.Do(t, c.Start(ctx))
		defer func() { must.Do(t, c.Close(await.Context(t))) }()
	}
	pollers := []*Poller{s.poller(Config{}), s.poller(Config{})}
	var working sync.WaitGroup
	for n := range 8 {
		working.Go(func() {
			for over.Err() == nil {
				h, err := pollers[n%2].Take(over, []string{"orders"}, Take{Wait: time.Second, Most: 1 + n%3})
				if h == nil {
					if err != nil && over.Err() == nil {
						t.Error(err)
					}
					continue
				}
				l.begin(h.Slot, h.Fence)
				var verdicts []Verdict
				var done []string
				for _, m := range h.Messages {
					switch c := <-chance; {
					case c < 10:
						verdicts = append(verdicts, Failed("once more", time.Millisecond).Of(m.Content))
					case c < 20:
						verdicts = append(verdicts, Later(time.Millisecond, "not now").Of(m.Content))
					case c < 30:
						verdicts = append(verdicts, NotStarted().Of(m.Content))
					default:
						done = append(done, m.Content)
					}
				}
				l.end(h.Slot, done...)
				s.finish(pollers[(n+1)%2], h, true, verdicts...)
			}
		})
	}
	s.sends(numbered("m", messages)...)
	select {
	case <-l.all:
	case <-over.Done():
		t.Error("not all are done")
	}
	await.True(t, "nothing is left", func() bool { return s.counts() == [4]int64{} })
	stop()
	working.Wait()
}

// A worker that shares by Redis and takers agree about the topic, whoever comes first; what takers hold is finished
// before a listener gets the slot.
func TestWorkerWaitsForATaker(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	p := s.poller(Config{})
	s.sends("taken", "listened to")
	h := s.take(p, Take{TTR: time.Hour})
	heard := make(chan string, 2)
	c, err := consumer.New(s.rdb, consumer.Config{})
	must.Do(t, err)
	must.Do(t, c.Listen(s.topic, consumer.ListenerFunc(func(_ context.Context, d *consumer.Delivery) error {
		heard <- fmt.Sprint(d.Content, d.Fence > h.Fence)
		return nil
	}), consumer.ListenOptions{}))
	must.Do(t, c.Start(ctx))
	defer func() { must.Do(t, c.Close(await.Context(t))) }()
	s.finish(p, h, true, NotStarted())
	want := map[string]bool{"taken" + "true": true, "listened to" + "true": true}
	for range 2 {
		got := await.Signal(t, "a message", heard)
		if !want[got] {
			t.Errorf("heard %s", got)
		}
		delete(want, got)
	}
}
