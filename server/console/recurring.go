package console

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/inspector/plans"
	"github.com/slotmq/go-rmq/internal/text/story"
	"github.com/slotmq/go-rmq/server/console/internal/problem"
)

// recurringPage is what is sent again and again in a topic.
type recurringPage struct {
	At     time.Time
	Topic  string
	Plans  []planRow
	Missed []string
}

// planRow is a plan.
type planRow struct {
	plans.Plan
	Comes, Rule, Shown string
	Problem            string
}

// plansOf are the plans of a topic at one time.
type plansOf struct {
	plans  []plans.Plan
	missed []string
}

func (c *Console) readPlans(topic string) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		var partial inspector.PartialError
		all, err := c.inspector.Plans().List(ctx, topic)
		if err := partial.Merge(err); err != nil {
			return nil, err
		}
		return &plansOf{all, missed(partial.Failures)}, nil
	}
}

func loadRecurring(v *visit) (any, error) {
	topic := v.param("topic")
	got, at, err := of[*plansOf](v, "plans "+topic, v.readPlans(topic))
	if err != nil {
		return nil, err
	}
	p := &recurringPage{At: at, Topic: topic, Missed: got.missed}
	for _, plan := range got.plans {
		row := planRow{Plan: plan, Comes: story.Comes(plan, time.Now())}
		if plan.Err != nil {
			row.Problem = problem.Sentence(plan.Err)
		} else {
			row.Rule, row.Shown = v.style().Rule(plan.Recurring), v.contents.Shown(plan.Content)
		}
		p.Plans = append(p.Plans, row)
	}
	return p, nil
}
