package poll

import (
	"sync"
	"time"

	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// report tells the observers and the journal what has happened to a batch.
func (p *process) report(r *receipt, took time.Duration, items []message.Item) {
	if p.observers == nil {
		return
	}
	e := p.observers.Event()
	e.Topic, e.Slot, e.Fence, e.Worker, e.At, e.Took = r.topic, r.slot, r.fence, r.id(), time.Now(), took
	e.Topic.Name = p.qualify(r.topic.Name)
	e.Items = append(e.Items, items...)
	all := []*message.Event{e}
	var reporting sync.WaitGroup
	reporting.Go(func() { p.observers.Report(all) }) // an observer may end the goroutine
	reporting.Wait()
	p.observers.Release(all...)
}

// reportTaken reports a batch that was taken.
func (p *process) reportTaken(h *Held) {
	if p.observers == nil {
		return
	}
	r := h.receipt
	items := make([]message.Item, len(h.Messages))
	for i := range h.Messages {
		m := &h.Messages[i]
		items[i] = message.Item{What: message.Taken, Content: m.Content, Score: m.score(), Attempt: r.attempt}
	}
	p.report(r, time.Since(h.Until.Add(-r.ttr)), items)
}

// report reports what became of a batch; or, if why is not empty, that this is not known or did not count.
func (e *ending) report(why string, took time.Duration) {
	if e.observers == nil {
		return
	}
	items := make([]message.Item, len(e.contents))
	next := 0 // of the verdicts of the turn, which has those that are not nil
	for i, content := range e.contents {
		r, x := e.receipt, &items[i]
		*x = message.Item{What: message.Done, Content: content, Score: r.items[i].score, Attempt: r.attempt}
		if v := e.fates[i]; v != nil {
			said := e.turn.Verdicts[next]
			next++
			x.What, x.In, x.Reason = ends[v.fate], said.Delay, said.Reason
			verdict.Applied(x)
		} else if r.items[i].expired {
			x.What, x.Reason = message.Dropped, expiredReason
		}
		if why != "" {
			x.What, x.In, x.Reason = message.Overtaken, 0, why
		}
	}
	e.process.report(e.receipt, took, items)
}
