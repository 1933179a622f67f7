package consumer

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/keeper"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// Who is asked about what it carries lets it be; about what it does not carry, it takes
// a turn that leaves, under the id it is asked by, once at a time.
func TestAsked(t *testing.T) {
	t.Parallel()
	s, topics := stage(16, 3)
	one := topics[0]
	turns := func() (ids []string) {
		for s.queues.length > 0 {
			xs, leaves := s.next(8, nil, nil)
			for i, x := range xs {
				if !leaves[i] {
					t.Errorf("the turn of %s at slot %d may take", x.worker, x.index)
				}
				if !x.leaving.Load() {
					t.Errorf("when %s has left slot %d, nobody is woken", x.worker, x.index)
				}
				ids = append(ids, fmt.Sprint(x.index, " ", x.worker))
			}
		}
		return ids
	}
	s.takeAll() // all slots have a batch
	s.asked(one, 0, "me")
	s.asked(one, 7, "me")
	s.asked(one, -1, "me")
	s.asked(one, 0, "stranger")
	if got := turns(); got != nil {
		t.Errorf("turns %v", got)
	}
	hung := one.slots[0]
	s.own(one, one.term, nil)
	s.desert(hung) // me+1 has the slot then, and me still carries it
	s.asked(one, 0, "me")
	if got := turns(); got != nil {
		t.Errorf("turns %v at what hangs", got)
	}
	s.forget(hung) // it has returned
	for range 2 {
		s.asked(one, 0, "me")
		s.asked(one, 0, "me+1")
	}
	if got := turns(); !slices.Equal(got, []string{"0 me", "0 me+1"}) {
		t.Errorf("turns %v", got)
	}
	rests := one.slots[2]
	rests.held = false
	s.leave(rests)
	s.dismiss()
	s.asked(one, 1, "me") // carries its batch
	s.asked(one, 2, "me") // carries nothing, and is about to get another id
	if got := turns(); got != nil {
		t.Errorf("turns %v between two terms", got)
	}
}

// A holder is asked after it has been busy for a while, and not again at once. The next one
// that is busy there is asked as soon, although somebody was asked about the slot just now.
func TestQuestionsOfTwoHolders(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	c := newConsumer(t, rdb, Config{})
	c.requests = ctx // it does not start
	_, topics := stage(16, 1)
	one := topics[0]
	one.name = topicOf(t, message.KindPriority, 1).Name
	x := one.slots[0]
	sub := rdb.Subscribe(ctx, luascripts.WakeChannel(one.name))
	t.Cleanup(func() { sub.Close() })
	_, err := sub.Receive(ctx)
	must(t, err)
	busyWith := func(holder string, since time.Duration) {
		t.Helper()
		c.suspect(x, holder)
		x.busy = time.Now().Add(-since)
		c.suspect(x, holder)
		c.announcing.Wait()
	}
	busyWith("first", askAfter)
	busyWith("first", 10*askAfter) // asked just now
	busyWith("second", askAfter)
	must(t, rdb.Publish(ctx, luascripts.WakeChannel(one.name), "end").Err())
	var asked []string
	for {
		note, err := sub.ReceiveMessage(ctx)
		must(t, err)
		if note.Payload == "end" {
			break
		}
		_, holder, _ := luascripts.ParseQuestion(note.Payload)
		asked = append(asked, holder)
	}
	if !slices.Equal(asked, []string{"first", "second"}) {
		t.Errorf("asked %q", asked)
	}
}

// An id of the term before is this worker's while that term's session lasts: as long as one
// of its handlers runs.
func TestAskedByTheIDBefore(t *testing.T) {
	t.Parallel()
	s, topics := stage(16, 3)
	one := topics[0]
	one.term.member = new(keeper.Member)
	s.takeAll() // all slots have a batch
	hung := one.slots[0]
	s.dismiss()
	s.begin(&term{id: "next", log: zap.NewNop(), member: new(keeper.Member)})
	s.forget(hung) // it has returned; the two others have not
	s.asked(one, 1, "me")
	if s.queues.length > 0 {
		t.Error("a turn at what hangs")
	}
	s.asked(one, 0, "me")
	if s.queues.length != 1 {
		t.Fatalf("%d turns, want one", s.queues.length)
	}
	if xs, leaves := s.next(8, nil, nil); xs[0].index != 0 || xs[0].worker != "me" || !leaves[0] {
		t.Errorf("the turn of %s at slot %d", xs[0].worker, xs[0].index)
	}
	s.closed = true
	s.asked(one, 0, "next")
	if s.queues.length > 0 {
		t.Error("a turn after the end")
	}
}
