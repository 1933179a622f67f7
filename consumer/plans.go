package consumer

import "github.com/slotmq/go-rmq/internal/upkeep/planner"

// makePlanner makes what sends the occurrences of plans in the worker's slots.
func (w *running) makePlanner(c *Consumer) {
	topics := make([]*planner.Topic, len(w.topics))
	for i, t := range w.topics {
		topics[i] = &planner.Topic{Topic: t.Topic.Topic, Qualified: t.Qualified, Scheduled: t.scheduled, Look: t.opts.SafetyLook}
	}
	w.planner = planner.New(planner.Config{
		Needs: w.needs, Observers: w.observers, Journal: c.cfg.Journal,
	}, topics)
}
