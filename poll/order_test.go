package poll

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// What is given back stands where it stood: with its priority, or with the time when it was due.
func TestWhatIsGivenBackKeepsItsPlace(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, message.Topic{Kind: kind, Slots: 1})
			p := s.poller(Config{})
			now, err := s.rdb.Time(ctx).Result()
			must.Do(t, err)
			due := func(i int) int64 { return now.Add(time.Duration(i-10) * time.Minute).UnixMilli() }
			for i, content := range []string{"c", "a", "b"} { // their order is not that of their bytes
				score := due(i)
				if !kind.Timed() {
					score = int64(900 - 100*i)
				}
				must.Do(t, s.rdb.ZAdd(ctx, s.keys(0).Store, redis.Z{Score: float64(score), Member: content}).Err())
			}
			must.Do(t, s.rdb.HSet(ctx, protocol.DefinitionKey("orders"), "kind", kind.String(), "slots", 1, "literal", 0, "notes", 0, "layout", 1).Err())
			must.Do(t, s.rdb.SAdd(ctx, protocol.TopicsKey, "orders").Err())
			scores := func() (all []redis.Z) {
				all, err := s.rdb.ZRangeWithScores(ctx, s.keys(0).Store, 0, -1).Result()
				must.Do(t, err)
				return all
			}
			before := scores()
			for range 3 { // in one batch, and one by one
				s.finish(p, s.take(p, Take{Most: 3}), true, NotStarted())
				if after := scores(); !slices.Equal(after, before) {
					t.Fatalf("%v, was %v", after, before)
				}
				s.finish(p, s.take(p, Take{}), true, NotStarted())
				if after := scores(); !slices.Equal(after, before) {
					t.Fatalf("%v, was %v", after, before)
				}
			}
			// Of a batch, one is done, and one comes later: with its priority, which has its effect when it is back.
			h := s.take(p, Take{Most: 3})
			s.finish(p, h, true, Later(time.Millisecond, "not now").Of("a"), NotStarted().Of("b"))
			after(t, s, 2*time.Millisecond)
			for _, want := range map[bool][]string{true: {"b", "a"}, false: {"a", "b"}}[kind.Timed()] {
				h := s.take(p, Take{})
				s.has(h, want, 1)
				if kind == message.KindPriority && h.Messages[0].Priority != map[string]int64{"a": 800, "b": 700}[want] {
					t.Errorf("priority of %s: %d", want, h.Messages[0].Priority)
				}
				s.finish(p, h, true)
			}
		})
	}
}

// Retries come one at a time, in the order of their times, and with the priority they were sent with.
func TestRetriesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindFixedTime, Slots: 1})
	p := s.poller(Config{Backoff: verdict.Schedule(time.Millisecond)})
	s.sends("a", "b", "c")
	for i, content := range []string{"c", "a", "b"} {
		h := s.take(p, Take{Most: 3})
		for len(h.Messages) < 3-i { // not all of them are due
			s.finish(p, h, true, NotStarted())
			h = s.take(p, Take{Most: 3})
		}
		s.finish(p, h, true, NotStarted(), Failed("no", time.Duration(10*i+1)*time.Millisecond).Of(content))
		if i == 2 {
			break
		}
	}
	after(t, s, 30*time.Millisecond)
	for _, content := range []string{"c", "a", "b"} {
		h := s.take(p, Take{Most: 3})
		s.has(h, content, 2)
		s.finish(p, h, true)
	}
}

// Whoever just lets his time end spends an attempt of each message, and nothing else is lost: after 17 of them the message
// is dead, and says so.
func TestSilentTakersSpendAllAttempts(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindFixedTime, Slots: 1, Literal: true}) // whose retries are at once
	pollers := []*Poller{s.poller(Config{Worker: "a"}), s.poller(Config{Worker: "b"})}
	s.sends("x")
	var fence int64
	for attempt := 1; attempt <= message.MaxRetries+1; attempt++ {
		h := s.take(pollers[attempt%2], Take{})
		s.has(h, "x", attempt)
		if h.Fence <= fence {
			t.Errorf("number %d comes after %d", h.Fence, fence)
		}
		fence = h.Fence
		s.ends(h)
		s.finish(pollers[0], h, false) // it comes too late
	}
	if left := s.counts(); left != [4]int64{0, 0, 0, 1} {
		t.Errorf("left: %v", left)
	}
	s.nothing(pollers[0])
	e, err := s.look().Explain(ctx, "orders", "x", "")
	must.Do(t, err)
	if len(e) != 1 || e[0].Dead == nil || e[0].Failure == nil || e[0].Failure.Attempts != 17 {
		t.Errorf("%+v", e)
	}
}

// ends has the time to run of a batch be over, and another one take the messages over.
func (s *shop) ends(h *Held) {
	s.Helper()
	k := s.keys(h.Slot)
	must.Do(s, s.rdb.HSet(ctx, k.Meta, "until", 1).Err())
	turn := &protocol.Turn{Keys: k, Priority: !s.topic.Kind.Timed(), Merge: s.topic.Kind.FirstWins(), Worker: fmt.Sprint("another", h.Fence), Lease: time.Minute}
	scripts := protocol.New(s.rdb)
	for range 2 { // which takes it over, and leaves
		cmd := scripts.TurnCmd(ctx, turn)
		scripts.Exec(ctx, cmd)
		a, err := protocol.TurnAnswer(turn, cmd)
		must.Do(s, err)
		turn.Fence = a.Fence
	}
	for _, p := range s.pollers {
		if topic := p.topics.opened(s.topic.Name); topic != nil {
			topic.scheduled.Wake(h.Slot, 0)
		}
	}
}
