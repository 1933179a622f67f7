package consumer

import (
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker"
	"github.com/slotmq/go-rmq/message"
)

// A holder is asked after it has been busy for a while, and not again at once. The next one
// that is busy there is asked as soon, although somebody was asked about the slot just now.
func TestQuestionsOfTwoHolders(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	topic := topicOf(t, message.KindPriority, 1)
	c := newConsumer(t, rdb, Config{})
	must.Do(t, c.Listen(topic, newNotes().done(), ListenOptions{}))
	w := newCrew(c) // which joins, and does not run
	must.Do(t, w.fleet.Agree(ctx))
	w.build(c)
	must.Do(t, w.fleet.Join(ctx, w.schedule, w.scheduled))
	defer w.life.End(nil)
	defer w.fleet.Undo(ctx)
	one := c.topics[0]
	x := asSlot(one.scheduled.Status()[0].Slot)
	sub := rdb.Subscribe(ctx, protocol.WakeChannel(one.Qualified))
	t.Cleanup(func() { sub.Close() })
	_, err := sub.Receive(ctx)
	must.Do(t, err)
	busyWith := func(holder string, since time.Duration) {
		t.Helper()
		answer := &worker.Answer{Answer: protocol.Answer{Code: protocol.Busy, Holder: holder, Wait: time.Hour}, Slot: &x.Slot}
		w.turns.Busy(answer)
		x.busy = time.Now().Add(-since)
		w.turns.Busy(answer)
		w.life.Wait()
	}
	busyWith("first", askAfter)
	busyWith("first", 10*askAfter) // asked just now
	busyWith("second", askAfter)
	must.Do(t, rdb.Publish(ctx, protocol.WakeChannel(one.Qualified), "end").Err())
	var asked []string
	for {
		note, err := sub.ReceiveMessage(ctx)
		must.Do(t, err)
		if note.Payload == "end" {
			break
		}
		_, holder, _ := protocol.ParseQuestion(note.Payload)
		asked = append(asked, holder)
	}
	if !slices.Equal(asked, []string{"first", "second"}) {
		t.Errorf("asked %q", asked)
	}
}
