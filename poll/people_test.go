package poll

import (
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// look is an inspector of the shop.
func (s *shop) look() *inspector.Inspector {
	s.Helper()
	i, err := inspector.New(s.rdb, inspector.Config{})
	must.Do(s, err)
	return i
}

// waits has somebody wait for a batch, which is sent when there is one; nil if there is none in time.
func (s *shop) waits(p *Poller, o Take) <-chan *Held {
	s.Helper()
	got := make(chan *Held, 1)
	waiting := func() int {
		topic := p.topics.opened(s.topic.Name)
		if topic == nil {
			return 0
		}
		return topic.queue.length()
	}
	before := waiting()
	go func() {
		h, err := p.Take(ctx, []string{s.topic.Name}, o)
		if err != nil {
			s.Error(err)
		}
		got <- h
	}()
	await.True(s, "somebody waits", func() bool { return waiting() > before || len(got) > 0 })
	return got
}

// A paused topic gives nothing, nor does a paused slot; who waits gets it as soon as it is resumed.
func TestPausedTopicsGiveNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 2})
	p := s.poller(Config{SafetyLook: time.Hour})
	s.sends("opens it")
	s.finish(p, s.take(p, Take{}), true)
	for _, which := range [][]int{nil, {0, 1}} {
		_, err := s.look().Pause(ctx, "orders", which)
		must.Do(t, err)
		s.sends("x", "y", "z")
		s.nothing(p)
		waiting := s.waits(p, Take{Wait: await.Patience, Most: 3})
		select {
		case h := <-waiting:
			t.Fatalf("%+v", h)
		default:
		}
		_, err = s.look().Resume(ctx, "orders", which)
		must.Do(t, err)
		h := <-waiting
		for n := len(h.Messages); ; n += len(h.Messages) {
			s.finish(p, h, true)
			if n == 3 {
				break
			}
			h = s.take(p, Take{Most: 3})
		}
	}
	// Of two slots, one goes on.
	var inSlot [2]string
	for i := 0; inSlot[0] == "" || inSlot[1] == ""; i++ {
		c := fmt.Sprint("m", i)
		inSlot[slots.Of(c, s.topic.Slots)] = c
	}
	_, err := s.look().Pause(ctx, "orders", []int{0})
	must.Do(t, err)
	s.sends(inSlot[:]...)
	h := s.take(p, Take{})
	s.has(h, inSlot[1], 1)
	s.finish(p, h, true)
	s.nothing(p)
	_, err = s.look().Resume(ctx, "orders", []int{0})
	must.Do(t, err)
	h = s.take(p, Take{})
	s.has(h, inSlot[0], 1)
	s.finish(p, h, true)
}

// Plans are sent while somebody takes, though no worker listens.
func TestPlansAreSentWhileSomebodyTakes(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindFixedTime, Slots: 4})
	p := s.poller(Config{})
	s.sends("opens it")
	s.finish(p, s.take(p, Take{}), true)
	waiting := s.waits(p, Take{Wait: await.Patience})
	now, err := s.rdb.Time(ctx).Result()
	must.Do(t, err)
	must.Do(t, s.rdb.SAdd(ctx, protocol.PlansKey("orders"), 3).Err())
	_, err = protocol.New(s.rdb).SetPlan(ctx, protocol.KeysOf("orders", 3).Plans(false), "p", `{"content":"tick","period":100}`, "1", now.UnixMilli()+100, protocol.PlanStand{})
	must.Do(t, err)
	must.Do(t, s.rdb.Publish(ctx, protocol.WakeChannel("orders"), protocol.AppendPlan(nil, 3)).Err())
	h := <-waiting
	for range 4 {
		s.has(h, "tick", 1)
		s.finish(p, h, true)
		h = s.take(p, Take{})
	}
	s.finish(p, h, true)
}
