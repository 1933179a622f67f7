package poll

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// A receipt says nothing at a process of another namespace: neither counts nor harms.
func TestReceiptOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	send, err := producer.New(s.rdb, producer.Config{Namespace: "shop"})
	must.Do(t, err)
	_, err = send.Send(ctx, s.topic, message.Priority{Content: "x", Priority: 100})
	must.Do(t, err)
	must.Do(t, send.Close(ctx))
	s.sends("x")
	plain, shop := s.poller(Config{}), s.poller(Config{Namespace: "shop"})
	ours, theirs := s.take(plain, Take{}), s.take(shop, Take{})
	for _, c := range []struct {
		p    *Poller
		h    *Held
		here bool
	}{{plain, theirs, false}, {shop, ours, false}, {plain, ours, true}, {shop, theirs, true}} {
		x, err := c.p.Extend(ctx, c.h.Receipt)
		must.Do(t, err)
		if x.Held != c.here {
			t.Errorf("held: %v, want %v", x.Held, c.here)
		}
		for _, verdicts := range [][]Verdict{{Dead("no")}, nil} {
			if !c.here {
				s.finish(c.p, c.h, false, verdicts...)
			}
		}
		if c.here {
			s.finish(c.p, c.h, true)
		}
	}
}

// Redis loses everything: the poller says so, once for all topics, and takes what is sent from then on.
func TestRedisIsEmptied(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	p := s.poller(Config{Logger: zap.New(core)})
	other := shopOn(t, s.rdb, message.Topic{Name: "bills", Kind: message.KindPriority, Slots: 1})
	for range 2 {
		for _, shop := range []*shop{s, other} {
			shop.sends("x")
			shop.finish(p, shop.take(p, Take{}), true)
		}
		must.Do(t, s.rdb.FlushAll(ctx).Err())
	}
	if said := logs.FilterMessage("Redis has forgotten what it knew: it came back empty, or older").All(); len(said) != 1 {
		t.Errorf("it was said %d times: %v", len(said), said)
	}
}

// The topic is deleted, or made anew, while a batch is out: its receipt counts no more, and harms nothing.
func TestReceiptOfATopicThatIsGone(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	p := s.poller(Config{})
	s.sends("x")
	h := s.take(p, Take{})
	must.Do(t, p.Close(ctx))
	must.Do(t, s.rdb.FlushAll(ctx).Err())
	p = s.poller(Config{})
	s.finish(p, h, false)
	s.finish(p, h, false, Failed("no", 0))
	other := shopOn(t, s.rdb, message.Topic{Kind: message.KindFixedTime, Slots: 4})
	other.sends("x")
	s.finish(p, h, false)
	s.finish(p, h, false, NotStarted())
	if x, err := p.Extend(ctx, h.Receipt); err != nil || x.Held {
		t.Errorf("%+v, %v", x, err)
	}
	new := other.take(p, Take{})
	other.has(new, "x", 1)
	s.finish(p, h, false, Dead("no"))
	other.finish(p, new, true)
	if left := other.counts(); left != [4]int64{} {
		t.Errorf("left: %v", left)
	}
}

// A batch of large contents has 1 MiB at the most, or one alone; and a receipt does not grow with them.
func TestLargeContents(t *testing.T) {
	t.Parallel()
	const size = 256 << 10
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	p := s.poller(Config{})
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprint(i, "/")+strings.Repeat("x", size-10))
	}
	s.sends(want...)
	got := map[string]bool{}
	for len(got) < len(want) {
		h := s.take(p, Take{Most: 256})
		bytes := 0
		for _, m := range h.Messages {
			bytes += len(m.Content)
			got[m.Content] = true
		}
		if bytes > 1<<20 || len(h.Receipt) > 500 {
			t.Errorf("%d bytes, and a receipt of %d", bytes, len(h.Receipt))
		}
		s.finish(p, h, true, Later(time.Hour, "not now"))
	}
	if left := s.counts(); left[2] != int64(len(want)) {
		t.Errorf("left: %v", left)
	}
}

// A reason of any length and any bytes is kept as far as it goes.
func TestLongReasons(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindFixedTime, Slots: 1})
	p := s.poller(Config{})
	s.sends("x")
	s.finish(p, s.take(p, Take{}), true, Failed("no\x00"+strings.Repeat("é", 10_000), time.Millisecond))
	h := s.take(p, Take{})
	if !strings.HasPrefix(h.LastError, "no") || len(h.LastError) > 1100 || !strings.HasSuffix(strings.TrimSuffix(h.LastError, "…"), "é") {
		t.Errorf("%d bytes: %.20q … %q", len(h.LastError), h.LastError, h.LastError[len(h.LastError)-8:])
	}
	s.finish(p, h, true)
}

// A context that has ended before takes and finishes nothing.
func TestEndedContexts(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	p := s.poller(Config{})
	s.sends("x", "y")
	h := s.take(p, Take{})
	over, cancel := context.WithCancel(ctx)
	cancel()
	for range 20 {
		if got, err := p.Take(over, []string{"orders"}, Take{Wait: time.Hour}); got != nil || !errors.Is(err, context.Canceled) {
			t.Fatal(got, err)
		}
	}
	if counted, err := p.Finish(over, h.Receipt); counted || !errors.Is(err, context.Canceled) {
		t.Error(counted, err)
	}
	if _, err := p.Extend(over, h.Receipt); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.finish(p, h, true, NotStarted())
	for range 2 {
		h := s.take(p, Take{})
		if h.Attempt != 1 {
			t.Errorf("attempt %d", h.Attempt)
		}
		s.finish(p, h, true)
	}
}

// No id is used for two batches, and each names its process.
func TestEachBatchHasAnIDOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 2})
	s.sends(numbered("m", 30)...)
	p := s.poller(Config{Worker: "gateway-1"})
	var ids []string
	for range 30 {
		h := s.take(p, Take{TTR: time.Hour})
		id := s.rdb.HGet(ctx, s.keys(h.Slot).Meta, "holder").Val()
		if name, taker := protocol.TakerName(id); name != "gateway-1" || !taker || slices.Contains(ids, id) {
			t.Errorf("%s after %q", id, ids)
		}
		if lease := s.rdb.HGet(ctx, s.keys(h.Slot).Meta, "lease").Val(); lease != "3600000" {
			t.Errorf("its lease is %s", lease)
		}
		ids = append(ids, id)
		s.finish(p, h, true)
	}
}
