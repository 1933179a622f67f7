package consumer

import (
	"time"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/observers"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/worker"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/message"
)

// An event waits for the answer. When a handler returns, nothing is done yet: until Redis has applied it, the batch may
// be taken over, and an event that said done would be wrong. The verdicts travel with the slot's next turn, and so do
// the events: slot.event is begun when a batch is taken, filled in by batch.finish, and settled by the answer
// (Answer.Unproven has the cases). In doubt it says overtaken. It keeps the batch's contents in memory until then;
// without observers it costs nothing. A producer reports before its callers learn the result, so an event of a send has
// been shown when Send returns. Slots that come and go are listed by the schedule under its lock, and reported by a
// goroutine of their own: an observer that takes its time must not hold up a take.

// events reports what happens to the messages of a worker. It is nil where nothing observes.
type events struct {
	life      *lifetime.Lifetime
	observers *observers.Observers
	schedule  *schedule.Schedule
}

// answers reports what the answers of one write bring, before anything is done about them.
func (n *events) answers(all []worker.Answer) {
	var events, settled []*message.Event
	now := time.Now()
	add := func(x *slot, e *message.Event) {
		e.At, e.Took = now, now.Sub(x.Sent)
		events = append(events, e)
	}
	for i := range all {
		if all[i].Err != nil {
			continue
		}
		x, a := slotIn(&all[i]), &all[i].Answer
		if e := x.event; e != nil {
			settle(e, a, x.Facts.Failures > 0)
			add(x, e)
			x.event, settled = nil, append(settled, e)
		}
		if a.Code == protocol.Batch {
			x.event = n.taken(x, a)
			add(x, x.event)
		}
	}
	n.observers.Report(events)
	n.observers.Release(settled...)
}

// taken is the event of the batch that a slot has. It becomes that of what becomes of it.
func (n *events) taken(x *slot, a *protocol.Answer) *message.Event {
	e := n.observers.Event()
	e.Topic, e.Slot, e.Fence, e.Worker = x.topic.Topic.Topic, x.Index, a.Fence, x.ID()
	e.Topic.Name = x.topic.Qualified
	for i, content := range a.Contents {
		e.Items = append(e.Items, message.Item{What: message.Taken, Content: content, Score: x.scoreOf(a, i), Attempt: a.Attempt})
	}
	return e
}

// scoreOf is what observers hear of the priority or the time of message i. A time that was asked for
// only to hand messages back is not for them.
func (s *slot) scoreOf(a *protocol.Answer, i int) int64 {
	if why, ok := a.Failure(); ok {
		return why.Priority
	}
	if due := a.Due(i); s.topic.opts.Due && !due.IsZero() {
		return due.UnixMilli()
	}
	return a.Priority(i)
}

// finished fills in what the next turn says of a batch.
func (s *slot) finished() {
	for i := range s.event.Items {
		s.results[i].Describe(&s.event.Items[i])
	}
}

// settle has the event of a batch that a turn was to finish say that it was overtaken, if the
// answer does not prove that Redis has applied the turn.
func settle(e *message.Event, a *protocol.Answer, repeated bool) {
	if why := a.Unproven(e.Fence, repeated); why != "" {
		for i := range e.Items {
			item := &e.Items[i]
			item.What, item.In, item.Reason, item.Err = message.Overtaken, 0, why, nil
		}
	}
}

// run reports which slots come and go, until all are left. If an observer ends the goroutine,
// another one goes on.
func (n *events) run() {
	through := false
	defer func() {
		if !through {
			n.life.Go(n.run)
		}
	}()
	for moves := n.schedule.Moves.Next(nil); len(moves) > 0; moves = n.schedule.Moves.Next(moves) {
		var all []*message.Event
		for _, m := range moves {
			e := n.observers.Event()
			t := asTopic(m.Topic)
			e.Topic, e.Slot, e.Worker, e.At = t.Topic.Topic, m.Slot, m.ID, time.Now()
			e.Topic.Name = t.Qualified
			reason := "left"
			if m.Gained {
				reason = "gained"
			}
			e.Items = append(e.Items, message.Item{What: message.Moved, Reason: reason})
			all = append(all, e)
		}
		n.observers.Report(all)
		n.observers.Release(all...)
	}
	through = true
}
