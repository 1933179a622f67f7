package poll

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

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

var kinds = []message.Kind{message.KindPriority, message.KindFixedTime, message.KindRangeMerge}

// Each message is taken once, whoever takes and whoever finishes.
func TestTakesAreFinishedAnywhere(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, message.Topic{Kind: kind, Slots: 4})
			a, b := s.poller(Config{}), s.poller(Config{})
			want := numbered("m", 40)
			s.sends(want...)
			var got []string
			for i := range want {
				p, other := a, b
				if i%2 > 0 {
					p, other = b, a
				}
				h := s.take(p, Take{})
				s.has(h, h.Messages[0].Content, 1)
				got = append(got, h.Messages[0].Content)
				x, err := other.Extend(ctx, h.Receipt)
				must.Do(t, err)
				if !x.Held || x.Cancelled != nil || !x.Until.After(time.Now()) {
					t.Errorf("%+v", x)
				}
				s.finish(other, h, true)
				s.finish(p, h, false) // that changes nothing
				if x, err := p.Extend(ctx, h.Receipt); err != nil || x.Held {
					t.Errorf("%+v, %v", x, err)
				}
			}
			s.nothing(a)
			s.nothing(b)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("taken: %q", got)
			}
			if left := s.counts(); left != [4]int64{} {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// A slot has one batch at a time, and another one takes it when its time to run is over: an attempt is spent.
func TestTimeToRun(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	a, b := s.poller(Config{Worker: "a"}), s.poller(Config{Worker: "b"})
	s.sends("x", "y")
	h := s.take(a, Take{TTR: time.Second})
	var other *Held // the other one waits as first delivery
	for _, p := range []*Poller{a, b} {
		if other == nil { // on a slow machine the time of the first is over by now
			var err error
			other, err = p.Take(ctx, []string{"orders"}, Take{})
			must.Do(t, err)
		}
	}
	if other == nil {
		other = s.take(b, Take{})
	}
	if took := time.Until(h.Until); took > 0 {
		t.Errorf("it was taken over %v too early", took)
	}
	s.finish(a, h, false)
	s.finish(b, other, true)
	again := s.take(a, Take{})
	if got := []string{other.Messages[0].Content, again.Messages[0].Content}; !slices.Contains(got, "x") || !slices.Contains(got, "y") {
		t.Errorf("taken: %q", got)
	}
	if content := h.Messages[0].Content; again.Messages[0].Content != content || again.Attempt != 2 || again.LastError != "the lease of its worker ended" {
		t.Errorf("%+v, want %q once more", again, content)
	}
	s.finish(b, again, true)
	s.nothing(a)
}

// A batch is as large as asked for, first deliveries only, and finished message by message.
func TestBatches(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	p := s.poller(Config{})
	s.sends(numbered("m", 10)...)
	h := s.take(p, Take{Most: 8})
	if len(h.Messages) != 8 {
		t.Fatalf("%d messages", len(h.Messages))
	}
	c := func(i int) string { return h.Messages[i].Content }
	s.finish(p, h, true, Failed("it was closed", time.Hour), Dead("no such order").Of(c(0)), NotStarted().Of(c(1), c(2)), Later(time.Hour, "not yet").Of(c(3)))
	if left := s.counts(); left != [4]int64{4, 0, 5, 1} { // 2 of 10, and 2 not started; 4 failed, and 1 later
		t.Errorf("left: %v", left)
	}
	why, err := s.rdb.HGet(ctx, s.keys(0).Why, c(4)).Result()
	must.Do(t, err)
	if f := strings.Fields(why); len(f) < 5 || f[0] != "1" || f[3] != "100" || !strings.HasSuffix(why, "it was closed") {
		t.Errorf("why: %q", why)
	}
	rest := s.take(p, Take{Most: 256})
	if len(rest.Messages) != 4 || rest.Attempt != 1 {
		t.Errorf("%d messages, attempt %d", len(rest.Messages), rest.Attempt)
	}
	for _, m := range rest.Messages {
		if m.Priority != 100 {
			t.Errorf("priority %d", m.Priority)
		}
	}
	if _, err := p.Finish(ctx, rest.Receipt, NotStarted().Of("another one")); !errors.Is(err, message.ErrInvalid) {
		t.Error(err)
	}
	s.finish(p, rest, true)
}

// What fails comes again after its time, with the reason, 17 times.
func TestFailedComesAgain(t *testing.T) {
	t.Parallel()
	for _, literal := range []bool{false, true} {
		t.Run(fmt.Sprint("literal ", literal), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, message.Topic{Kind: message.KindFixedTime, Slots: 2, Literal: literal})
			p := s.poller(Config{Backoff: verdict.Schedule(time.Millisecond)})
			s.sends("x")
			for attempt := 1; attempt <= message.MaxRetries+1; attempt++ {
				h := s.take(p, Take{})
				s.has(h, "x", attempt)
				if h.Last() != (attempt == 17) || attempt > 1 && h.LastError != fmt.Sprint("failure ", attempt-1) {
					t.Errorf("attempt %d: last %v, %q", attempt, h.Last(), h.LastError)
				}
				s.finish(p, h, true, Failed(fmt.Sprint("failure ", attempt), 0))
			}
			s.nothing(p)
			if left := s.counts(); left != [4]int64{0, 0, 0, 1} {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// Who waits is woken by a send, and by the time of what is due; and never before it.
func TestWaits(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindFixedTime, Slots: 16})
	s.sends("first")
	p := s.poller(Config{SafetyLook: time.Hour})
	s.finish(p, s.take(p, Take{}), true)
	var waiting sync.WaitGroup
	for range 4 {
		waiting.Go(func() {
			h := s.take(p, Take{})
			if now := time.Now(); now.Before(h.Messages[0].Due.Add(-time.Second)) { // two clocks
				t.Errorf("%v early", h.Messages[0].Due.Sub(now))
			}
			s.finish(p, h, true)
		})
	}
	for i := range 4 {
		s.send(message.FixedTime{Content: fmt.Sprint("m", i), In: time.Duration(i) * 50 * time.Millisecond, At: map[bool]time.Time{true: time.Now()}[i == 0]})
	}
	waiting.Wait()
	s.nothing(p)
}

// The topics are asked in their order; then the first that has something serves.
func TestTopicsInOrder(t *testing.T) {
	t.Parallel()
	a := newShop(t, message.Topic{Name: "a", Kind: message.KindPriority, Slots: 4})
	b := shopOn(t, a.rdb, message.Topic{Name: "b", Kind: message.KindFixedTime, Slots: 4})
	p := a.poller(Config{})
	a.sends("a1", "a2")
	b.sends("b1", "b2")
	take := func(topics ...string) string {
		t.Helper()
		h, err := p.Take(ctx, topics, Take{Wait: await.Patience})
		must.Do(t, err)
		a.finish(p, h, true)
		return h.Messages[0].Content[:1]
	}
	if got := take("b", "a") + take("a", "b") + take("a", "b") + take("a", "b"); got != "baab" {
		t.Errorf("in the order %s", got)
	}
	got := make(chan string)
	go func() { got <- take("a", "b", "a") }()
	b.sends("b3")
	if from := <-got; from != "b" {
		t.Errorf("from %s", from)
	}
	a.nothing(p)
	b.nothing(p)
}

// What is taken for one who has gone is given back, with all it was.
func TestGoneTakersCostNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	p := s.poller(Config{})
	for i := range 50 {
		going, cancel := context.WithCancel(ctx)
		done := make(chan *Held)
		go func() {
			h, _ := p.Take(going, []string{"orders"}, Take{Wait: await.Patience})
			done <- h
		}()
		s.sends(fmt.Sprint("m", i))
		cancel()
		if h := <-done; h != nil { // it was quicker
			s.finish(p, h, true, NotStarted())
		}
		h := s.take(p, Take{})
		s.has(h, fmt.Sprint("m", i), 1)
		if h.Messages[0].Priority != 100 {
			t.Errorf("its priority is %d", h.Messages[0].Priority)
		}
		s.finish(p, h, true)
	}
}

// The caller goes in the very moment in which its batch comes: whichever is first, the batch is given back.
func TestCallersWhoGoWhenTheirBatchComes(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	var leave atomic.Value
	p := s.poller(Config{Observers: []message.Observer{message.ObserverFunc(func(e *message.Event) {
		if f, ok := leave.Load().(context.CancelFunc); ok && e.Items[0].What == message.Taken {
			f()
		}
	})}})
	s.sends("x")
	for range 100 {
		going, cancel := context.WithCancel(ctx)
		leave.Store(cancel)
		if h, err := p.Take(going, []string{"orders"}, Take{TTR: time.Hour, Wait: await.Patience}); h != nil || !errors.Is(err, context.Canceled) {
			t.Fatal(h, err)
		}
	}
	leave.Store(context.CancelFunc(func() {}))
	h := s.take(p, Take{})
	s.has(h, "x", 1)
	s.finish(p, h, true)
}

// Close ends the waits. What is out can be finished elsewhere.
func TestClose(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	s.sends("x")
	p, other := s.poller(Config{}), s.poller(Config{})
	h := s.take(p, Take{})
	errs := make(chan error)
	for range 3 {
		go func() {
			_, err := p.Take(ctx, []string{"orders"}, Take{Wait: time.Hour})
			errs <- err
		}()
	}
	await.True(t, "they wait", func() bool {
		topic := p.topics.opened("orders")
		return topic.queue.length() == 3
	})
	must.Do(t, p.Close(await.Context(t)))
	for range 3 {
		if err := <-errs; !errors.Is(err, message.ErrClosed) {
			t.Error(err)
		}
	}
	if _, err := p.Take(ctx, []string{"orders"}, Take{}); !errors.Is(err, message.ErrClosed) {
		t.Error(err)
	}
	s.finish(other, h, true)
}

func TestWhatCannotBeTaken(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	p := s.poller(Config{})
	if _, err := p.Take(ctx, []string{"orders"}, Take{}); !errors.Is(err, ErrUnknownTopic) {
		t.Error(err)
	}
	s.sends("x")
	s.finish(p, s.take(p, Take{}), true) // which is known now
	must.Do(t, s.rdb.HSet(ctx, "rmq:def{mine}", "kind", "priority", "slots", 4, "literal", 0, "notes", 0, "sharing", "zookeeper", "tree", "1", "layout", 1, "namespace", "").Err())
	if _, err := p.Take(ctx, []string{"mine"}, Take{}); !errors.Is(err, ErrZooKeeper) {
		t.Error(err)
	}
	for _, o := range []Take{{Most: -1}, {Most: 257}, {TTR: time.Millisecond}, {TTR: 13 * time.Hour}, {Wait: -1}} {
		if _, err := p.Take(ctx, []string{"orders"}, o); !errors.Is(err, message.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, topics := range [][]string{nil, make([]string, 101), {"a/b"}, {""}} {
		if _, err := p.Take(ctx, topics, Take{}); !errors.Is(err, message.ErrInvalid) {
			t.Errorf("%q: %v", topics, err)
		}
	}
	for _, cfg := range []Config{{}, {Redis: s.rdb, Namespace: "a/b"}, {Redis: s.rdb, Worker: "a b"}, {Redis: s.rdb, Expired: 9}, {Redis: s.rdb, SafetyLook: 1}} {
		if _, err := New(cfg); !errors.Is(err, message.ErrInvalid) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	if _, err := p.Finish(ctx, "x"); !errors.Is(err, ErrReceipt) {
		t.Error(err)
	}
	if _, err := p.Extend(ctx, "x"); !errors.Is(err, ErrReceipt) {
		t.Error(err)
	}
}

// A batch that is finished by a process where nobody waits, or given back there, is looked for at once by those who wait elsewhere.
func TestFinishElsewhereWakesWhoWaits(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	a, b := s.poller(Config{SafetyLook: time.Hour}), s.poller(Config{})
	s.sends("x")
	h := s.take(a, Take{TTR: time.Hour})
	waiting := s.waits(a, Take{Wait: await.Patience})
	s.finish(b, h, true, NotStarted())
	other := <-waiting
	if other == nil {
		t.Fatal("nobody is woken")
	}
	s.has(other, "x", 1)
	s.finish(a, other, true)
}
