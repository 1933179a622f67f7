package poll

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// What is not taken in its time to live is dead, or dropped; and takers learn what is known of the sends.
func TestNotesAndTimeToLive(t *testing.T) {
	t.Parallel()
	for _, drop := range []bool{false, true} {
		t.Run(fmt.Sprint("drop ", drop), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1, Notes: true})
			cfg := Config{}
			if drop {
				cfg.Expired = consumer.ExpiredDrop
			}
			p := s.poller(cfg)
			s.send(message.Priority{Content: "lives", Priority: 500, Headers: map[string]string{"a": "b"}})
			s.send(message.Priority{Content: "lives", Priority: 500})
			s.send(message.Priority{Content: "ends", Priority: 600, TTL: time.Millisecond})
			s.send(message.Priority{Content: "ends, too", Priority: 700, TTL: time.Millisecond})
			s.send(message.Priority{Content: "ends later", Priority: 400, TTL: time.Hour})
			after(t, s, time.Millisecond)
			h := s.take(p, Take{Most: 3}) // of which two are over
			s.has(h, "lives", 1)
			m := h.Messages[0]
			if m.Sends != 2 || m.Headers["a"] != "b" || m.FirstSent.IsZero() || m.LastSent.Before(m.FirstSent) || !m.Expires.IsZero() {
				t.Errorf("%+v", m)
			}
			s.finish(p, h, true)
			h = s.take(p, Take{})
			s.has(h, "ends later", 1)
			if h.Messages[0].Expires.Before(time.Now()) {
				t.Errorf("%+v", h.Messages[0])
			}
			s.finish(p, h, true)
			dead := int64(2)
			if drop {
				dead = 0
			}
			if left := s.counts(); left != [4]int64{0, 0, 0, dead} {
				t.Errorf("left: %v", left)
			}
			await.True(t, "the notes are forgotten", func() bool {
				n, err := s.rdb.Exists(ctx, protocol.NoteKey("orders", 0)).Result()
				must.Do(t, err)
				return n == 0
			})
		})
	}
}

// Between the take and the look at the notes the same content is sent again, with a time to live that is over at
// once: that is the note of another copy, so the taker is told nothing, and has its message.
func TestNoteOfALaterCopy(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	s := shopOn(t, server.Client(t), message.Topic{Kind: message.KindPriority, Slots: 1, Notes: true})
	s.via = proxy.Client(t)
	p := s.poller(Config{})
	s.send(message.Priority{Content: "m", Priority: 500, Headers: map[string]string{"copy": "1"}})
	again := sync.OnceFunc(func() {
		if _, err := s.Send(ctx, s.topic, message.Priority{Content: "m", Priority: 500, TTL: time.Millisecond, Headers: map[string]string{"copy": "2"}}); err != nil {
			t.Error(err)
		}
		after(t, s, time.Millisecond)
	})
	key := protocol.NoteKey("orders", 0)
	look, asked := fmt.Appendf(nil, "\r\nhmget\r\n$%d\r\n%s\r\n", len(key), key), false
	proxy.OnRequest(func(b []byte) bool {
		if bytes.Contains(b, look) && s.counts()[1] == 1 { // in flight, as sweeps look as well
			asked = true
			again()
		}
		return true
	})
	h := s.take(p, Take{})
	proxy.OnRequest(nil)
	s.has(h, "m", 1)
	if m := h.Messages[0]; !asked || m.Sends != 0 || m.Headers != nil || !m.Expires.IsZero() {
		t.Errorf("asked %t: %+v", asked, m)
	}
	s.finish(p, h, true)
}

// after returns when some time is over by the clock of Redis.
func after(t *testing.T, s *shop, d time.Duration) {
	t.Helper()
	begin, err := s.rdb.Time(ctx).Result()
	must.Do(t, err)
	await.True(t, "time goes on", func() bool {
		now, err := s.rdb.Time(ctx).Result()
		must.Do(t, err)
		return now.Sub(begin) > d
	})
}

// A cancelled message is told to who extends.
func TestCancelled(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	p := s.poller(Config{})
	s.sends("a", "b", "c")
	h := s.take(p, Take{Most: 3})
	removed, flying, err := protocol.New(s.rdb).Cancel(ctx, s.keys(0), false, "b")
	if err != nil || removed || !flying {
		t.Fatalf("%v, %v, %v", removed, flying, err)
	}
	x, err := p.Extend(ctx, h.Receipt)
	must.Do(t, err)
	if !x.Held || !slices.Equal(x.Cancelled, []string{"b"}) {
		t.Errorf("%+v", x)
	}
	s.finish(p, h, true)
}

// Extend begins the time to run anew, at any process.
func TestExtend(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	a, b := s.poller(Config{}), s.poller(Config{})
	s.sends("x")
	h := s.take(a, Take{TTR: 5 * time.Second})
	got := make(chan *Held)
	go func() {
		other, err := b.Take(ctx, []string{"orders"}, Take{Wait: await.Patience})
		if err != nil {
			t.Error(err)
		}
		got <- other
	}()
	until := h.Until
	for range 3 {
		after(t, s, 300*time.Millisecond)
		x, err := b.Extend(ctx, h.Receipt)
		must.Do(t, err)
		if !x.Held || !x.Until.After(until) {
			t.Fatalf("%+v", x)
		}
		until = x.Until
	}
	other := <-got
	if other == nil || time.Now().Before(until) {
		t.Fatalf("%+v", other)
	}
	s.has(other, "x", 2)
	s.finish(b, other, true)
}

// A person's limit holds for takers, too: the rate is divided among the processes.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 4})
	s.sends(numbered("m", 20)...)
	s.limits(2, 0)
	p := s.poller(Config{})
	a, b := s.take(p, Take{}), s.take(p, Take{})
	s.nothing(p)
	s.finish(p, a, true)
	c := s.take(p, Take{})
	s.nothing(p)
	s.finish(p, b, true)
	s.finish(p, c, true)
	s.limits(0, 5)
	await.True(t, "the limit is known", func() bool { return p.topics.opened("orders").own() == 5 })
	other := s.poller(Config{}) // of the same name
	s.finish(other, s.take(other, Take{}), true)
	topic := p.topics.opened("orders")
	must.Do(t, topic.upkeep.presence.tell(ctx))
	if r := topic.own(); r != 2.5 {
		t.Errorf("%v a second with two processes", r)
	}
}

// limits limits the topic as a person does.
func (s *shop) limits(concurrency int, rate float64) {
	s.Helper()
	must.Do(s, s.look().Limit(ctx, "orders", inspector.Policy{Concurrency: concurrency, Rate: rate, For: time.Hour}))
}

// own is what the process has of the rate.
func (t *topic) own() float64 { return t.scheduled.Rate().PerSecond }
