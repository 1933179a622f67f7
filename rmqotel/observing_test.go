package rmqotel

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// Each thing that happens to messages has its counter; none of them names a slot or a content.
func TestEventsAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, servertest.SharedRedis(t).Client(t), rmq.Config{}, Config{})
	timed := rmq.Topic{Name: "ns:mails", Kind: rmq.KindFixedTime, Slots: 4}
	taken := time.Now()
	event := func(worker string, merged int, items ...message.Item) {
		w.tel.Observe(&message.Event{Topic: timed, Slot: 3, Worker: worker, Fence: taken.UnixMicro(), Merged: merged, Items: items})
	}
	due := taken.Add(-2 * time.Second).UnixMilli()
	event("", 2, message.Item{What: message.Sent}, message.Item{What: message.Sent}, message.Item{What: message.Refused}, message.Item{What: message.Duplicate})
	event("w-1", 0, message.Item{What: message.Taken, Score: due}, message.Item{What: message.Taken, Score: due}, message.Item{What: message.Taken})
	for i, what := range []message.What{message.Failed, message.Died, message.Snoozed, message.Dropped, message.HandedBack, message.Overtaken} {
		for range i + 1 {
			event("w-1", 0, message.Item{What: what}, message.Item{What: message.Done})
		}
	}
	event("w-1", 0, message.Item{What: message.Died, Err: consumer.ErrExpired}, message.Item{What: message.Dropped, Err: consumer.ErrExpired})
	event("w-2", 0, message.Item{What: message.Moved, Reason: "gained"}, message.Item{What: message.Moved, Reason: "left"}, message.Item{What: message.Moved, Reason: "gained"})
	event("w-2", 0, message.Item{What: message.Probing, Reason: "began"}, message.Item{What: message.Probing, Reason: "ended"}, message.Item{What: message.Probing, Reason: "began"})

	for _, c := range []struct {
		name string
		with []string
		want float64
	}{
		{"rmq.merged", nil, 2}, {"rmq.duplicates", nil, 1}, {"rmq.failed", nil, 1}, {"rmq.dead", nil, 3}, {"rmq.snoozed", nil, 3}, {"rmq.dropped", nil, 5}, {"rmq.expired", nil, 2},
		{"rmq.handed_back", nil, 5}, {"rmq.taken_over", nil, 6}, {"rmq.batch.size", nil, 1}, {"rmq.lateness", nil, 2},
		{"rmq.slot.moves", []string{"direction=gained"}, 2}, {"rmq.slot.moves", []string{"direction=left"}, 1},
		{"rmq.probing", nil, 1},
	} {
		if got := w.sum(c.name, append(c.with, "topic=ns:mails")...); got != c.want {
			t.Errorf("%s: %v, not %v", c.name, got, c.want)
		}
	}
	for name, m := range w.metrics() {
		all, _, bounds := points(m)
		for _, p := range all {
			if got := p.set.Len(); strings.HasPrefix(name, "rmq.") && got != 1 && (name != "rmq.slot.moves" || got != 2) {
				t.Errorf("%s has %v", name, p.set.ToSlice())
			}
		}
		if name == "rmq.lateness" && bounds[0] != 0.0005 {
			t.Errorf("lateness begins at %v", bounds)
		}
	}
	if id := w.tel.worker.Load(); id == nil || *id != "w-2" {
		t.Error("the worker is not known")
	}
	if slot, ok := w.tel.slotOf(rmq.Topic{Name: "mails", Kind: rmq.KindFixedTime}, "ns:mails", "x"); !ok || slot > 3 {
		t.Errorf("slot %d, %v", slot, ok)
	}
	if m := w.metrics()["rmq.lateness"]; fmt.Sprint(m.Unit) != "s" {
		t.Errorf("lateness in %s", m.Unit)
	}
}

// The merge ratio of a flood, and how late what came of it was: by a client that runs.
func TestMergedAndLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, servertest.SharedRedis(t).Client(t), rmq.Config{}, Config{})
	topic := rmq.Topic{Name: "pages", Kind: rmq.KindFixedTime, Slots: 4}
	const sends, pages = 200, 10
	handled := make(chan struct{}, sends)
	w.listen(topic, rmq.ListenOptions{Due: true}, func(context.Context, *rmq.Delivery) error {
		handled <- struct{}{}
		return nil
	})
	past := time.Now().Add(-time.Minute)
	for i := range sends {
		w.send(topic, rmq.FixedTime{Content: fmt.Sprint("page ", i%pages), At: past})
	}
	w.start()
	for range pages {
		<-handled
	}
	w.close()
	about := "topic=" + w.tel.destination(topic)
	if sent, merged := w.sum("messaging.client.sent.messages"), w.sum("rmq.merged", about); sent != sends || merged != sends-pages {
		t.Errorf("of %v sends %v merged", sent, merged)
	}
	if n := w.sum("rmq.lateness", about); n != pages {
		t.Errorf("%v times were late", n)
	}
	if n := w.sum("rmq.batch.size", about); n < 1 || n > pages {
		t.Errorf("%v batches", n)
	}
}

// A priority is no time: nothing is late.
func TestPrioritiesHaveNoLateness(t *testing.T) {
	t.Parallel()
	e := &message.Event{Topic: rmq.Topic{Kind: rmq.KindPriority}, Fence: time.Now().UnixMicro()}
	if _, known := latenessOf(e, &message.Item{Score: 500}); known {
		t.Error("a priority of 500 is late")
	}
}
