package poll

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/message"
)

// A slot that was left, so that no late copy of a turn takes anything, is looked at once more: what was sent meanwhile woke it
// while it was leaving, and nothing else would say so.
func TestLookBehindALeave(t *testing.T) {
	t.Parallel()
	p, err := New(Config{Redis: servertest.SharedRedis(t).Client(t)})
	must.Do(t, err)
	x := newTopic(p.process, "orders") // whose turns nobody takes
	x.definition, x.qualified = message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 1}, "orders"
	x.build()
	defer x.life.End(nil)
	x.scheduled.Assign(x, []int{0})
	_, err = x.queue.join(newTaker(Take{}))
	must.Do(t, err)
	x.scheduled.Wake(0, 0)
	hand := x.schedule.Next(1, nil)[0]
	slot := asSlot(hand.Slot)
	if !(turns{x}).Ask(hand) {
		t.Fatal("no turn is needed")
	}
	slot.leave = true
	turns{x}.Left(&worker.Answer{Answer: protocol.Answer{Code: protocol.Left}, Slot: &slot.Slot, Leaving: true})
	if got := x.scheduled.Status()[0].State; got != schedule.Ready {
		t.Errorf("its state is %d, not that of one that is ready", got)
	}
}

// The client of Redis is closed before the poller: who takes hears that, instead of waiting for an answer that never comes.
func TestClientIsClosedFirst(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := shopOn(t, server.Client(t), message.Topic{Kind: message.KindPriority, Slots: 1})
	own := server.Client(t)
	p, err := New(Config{Redis: own})
	must.Do(t, err)
	t.Cleanup(func() { _ = p.Close(await.CleanupContext(t)) })
	s.sends("x")
	s.finish(p, s.take(p, Take{}), true)
	s.sends("y")
	topic := p.topics.opened("orders")
	await.True(t, "the slot waits for somebody", func() bool { return topic.scheduled.Status()[0].State == schedule.Waiting })
	must.Do(t, own.Close())
	for range 2 {
		if h, err := p.Take(await.Context(t), []string{"orders"}, Take{}); err == nil || await.Context(t).Err() != nil {
			t.Errorf("%+v, %v", h, err)
		}
	}
}
