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
	d := newDesk(p, "orders") // whose turns nobody takes
	d.topic, d.qualified = message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 1}, "orders"
	d.build()
	defer d.life.End(nil)
	d.scheduled.Assign(d, []int{0})
	_, err = d.join(newTaker(Take{}))
	must.Do(t, err)
	d.scheduled.Wake(0, 0)
	hand := d.schedule.Next(1, nil)[0]
	x := asSlot(hand.Slot)
	if !(turns{d}).Ask(hand) {
		t.Fatal("no turn is needed")
	}
	x.leave = true
	turns{d}.Left(&worker.Answer{Answer: protocol.Answer{Code: protocol.Left}, Slot: &x.Slot, Leaving: true})
	if got := d.scheduled.Status()[0].State; got != schedule.Ready {
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
	d := p.openDesk("orders")
	await.True(t, "the slot waits for somebody", func() bool { return d.scheduled.Status()[0].State == schedule.Waiting })
	must.Do(t, own.Close())
	for range 2 {
		if h, err := p.Take(await.Context(t), []string{"orders"}, Take{}); err == nil || await.Context(t).Err() != nil {
			t.Errorf("%+v, %v", h, err)
		}
	}
}
