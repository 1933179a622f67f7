package poll

import (
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/message"
)

// report tells the observers and the journal what has happened to a batch.
func (p *Poller) report(r *receipt, took time.Duration, items []message.Item) {
	if p.observers == nil {
		return
	}
	e := p.observers.Event()
	e.Topic, e.Slot, e.Fence, e.Worker, e.At, e.Took = r.topic, r.slot, r.fence, r.id(), time.Now(), took
	e.Topic.Name = p.qualify(r.topic.Name)
	e.Items = append(e.Items, items...)
	all := []*message.Event{e}
	done := make(chan struct{})
	go func() { // an observer may end the goroutine
		defer close(done)
		p.observers.Report(all)
	}()
	<-done
	p.observers.Release(all...)
}

// reportTaken reports a batch that was taken.
func (p *Poller) reportTaken(h *Held, r *receipt, took time.Duration) {
	if p.observers == nil {
		return
	}
	items := make([]message.Item, len(h.Messages))
	for i, m := range h.Messages {
		items[i] = message.Item{What: message.Taken, Content: m.Content, Score: scoreOf(m), Attempt: r.attempt}
	}
	p.report(r, took, items)
}

func scoreOf(m Message) int64 {
	if m.Due.IsZero() {
		return m.Priority
	}
	return m.Due.UnixMilli()
}

// reportEnd reports what became of a batch; or, if why is not empty, that this is not known or did not count.
func (p *Poller) reportEnd(r *receipt, turn *protocol.Turn, contents []string, all []*Verdict, why string, took time.Duration) {
	if p.observers == nil {
		return
	}
	items := make([]message.Item, len(contents))
	next := 0 // of the verdicts of the turn, which has those that are not nil
	for i, content := range contents {
		x := &items[i]
		*x = message.Item{What: message.Done, Content: content, Score: r.items[i].score, Attempt: r.attempt}
		if v := all[i]; v != nil {
			said := turn.Verdicts[next]
			next++
			x.What, x.In, x.Reason = ends[v.fate], said.Delay, said.Reason
			if v.fate == protocol.Failed && r.attempt > message.MaxRetries {
				x.What, x.In = message.Died, 0
			}
		} else if r.items[i].expired {
			x.What, x.Reason = message.Dropped, expiredReason
		}
		if why != "" {
			x.What, x.In, x.Reason = message.Overtaken, 0, why
		}
	}
	p.report(r, took, items)
}
