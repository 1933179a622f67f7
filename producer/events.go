package producer

import (
	"time"

	"github.com/slotmq/go-rmq/message"
)

// report reports what became of a flight, an event for each slot, before its senders learn
// it. What a caller has withdrawn was never sent.
//
// What Send refuses before it adds the message to a flight is no event: nothing has
// happened to a message, and the caller has the error.
func (to *writer) report(f *flight, begun time.Time) {
	now := time.Now()
	for i := range f.lanes {
		l, e := &f.lanes[i], to.observers.Event()
		e.Topic, e.Slot, e.At, e.Took, e.Merged = l.topic.Topic, l.slot, now, now.Sub(begun), l.merged
		e.Topic.Name = l.topic.name
		f.each(l, func(entry int32) { e.Items = append(e.Items, f.item(l.topic.Kind, entry)) })
		if len(e.Items) > 0 {
			to.events = append(to.events, e)
		} else {
			to.observers.Release(e)
		}
	}
	defer func() {
		to.observers.Release(to.events...)
		to.events = to.events[:0]
	}()
	to.observers.Report(to.events)
}

// show reports a flight. If an observer ends the goroutine, another flusher goes on.
func (to *writer) show(f *flight, begun time.Time) {
	returned := false
	defer func() {
		if !returned {
			to.idle.Add(1)
			go func() {
				to.written(f)
				to.flush()
			}()
		}
	}()
	to.report(f, begun)
	returned = true
}

// item is what became of one entry of a flight that is done.
func (f *flight) item(kind message.Kind, entry int32) message.Item {
	x := message.Item{What: message.Sent, Content: f.contents[entry]}
	outcome, err := f.result(int(entry))
	switch {
	case err != nil:
		x.What, x.Err, x.Reason = message.Refused, err, err.Error()
		return x
	case outcome == Merged:
		x.What = message.Merged
	case outcome == Duplicate:
		x.What = message.Duplicate
	}
	if f.knows(kind, entry) { // else what it merged into keeps its time
		x.Score = f.scores[entry]
	}
	return x
}
