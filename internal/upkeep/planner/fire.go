package planner

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/message"
)

// fire sends occurrences, and moves their plans on. It returns the places where some could not be
// sent, and why.
func (p *Planner) fire(ctx context.Context, all []*firing) (failed map[place]error) {
	if len(all) == 0 {
		return nil
	}
	failed = map[place]error{}
	begun, cmds := time.Now(), make([]redis.Cmder, len(all))
	for i, f := range all {
		cmds[i] = p.Scripts.FirePlanCmd(ctx, f.keys(), f.Occurrence, f.next, f.content, f.score)
	}
	p.Scripts.Exec(ctx, cmds...)
	var sent []*message.Event
	var stored []*firing
	for i, f := range all {
		answer, err := protocol.FirePlanAnswer(f.keys(), f.Occurrence, cmds[i])
		switch {
		case err != nil: // it may have been sent: the next look tells
			if failed[f.place] == nil { // of many in one slot the first says it
				failed[f.place] = err
				p.failed(f.place, err)
			}
		case answer == protocol.PlanStale: // another worker was first, or the rule is another now
			p.lookAt(f.place, time.Now().Add(again))
		case answer == protocol.PlanSkipped:
		default:
			if p.Observers != nil {
				sent = append(sent, p.event(f, answer, begun))
			}
			stored = append(stored, f)
			f.merged = answer == protocol.PlanWaits
		}
		p.Log.Debug("an occurrence of a plan was due", zap.String("topic", f.topic.Name), zap.Int("slot", f.slot), zap.String("plan", f.Name),
			zap.Time("at", f.At), zap.String("answer", string(answer)), zap.Error(err))
	}
	p.report(sent)
	p.journal(ctx, stored)
	for _, f := range all {
		f.topic.Scheduled.Wake(f.slot, 0)
	}
	return failed
}

// event is that of an occurrence, which is a send like any other.
func (p *Planner) event(f *firing, answer protocol.PlanAnswer, begun time.Time) *message.Event {
	e := p.Observers.Event()
	e.Topic, e.Slot, e.At = f.topic.Topic, f.slot, time.Now()
	e.Topic.Name, e.Took = f.topic.Qualified, e.At.Sub(begun)
	item := message.Item{What: message.Sent, Content: f.content, Score: f.score}
	if answer == protocol.PlanWaits {
		item.What, item.Score, e.Merged = message.Merged, 0, 1 // what it merged into keeps its time
	}
	e.Items = append(e.Items, item)
	return e
}

// report shows events. It returns also if an observer ends the goroutine.
func (p *Planner) report(events []*message.Event) {
	if len(events) == 0 {
		return
	}
	through := make(chan struct{})
	p.Life.Go(func() {
		defer close(through)
		p.Observers.Report(events)
		p.Observers.Release(events...)
	})
	<-through
}
