package plans

import (
	"context"

	"github.com/slotmq/go-rmq/inspector/plans"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/story"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var list = frame.Command{
	Use:   "list [TOPIC]",
	Short: "List plans, and when each sends next",
	Long: `List the plans of a topic, or of all topics, and when each sends next. One that
has ended is kept: set again by a program that starts, it does not begin again.`,
	Example: `  rmq every list
  rmq every list reports
  rmq every list reports --json`,
	Steps: frame.Steps{frame.Connect, func(ctx context.Context, c *frame.Call) error {
		topics, err := c.Topics(ctx)
		if err != nil {
			return err
		}
		var plans []planOf
		for _, t := range topics {
			all, err := c.Inspector.Plans().List(ctx, t.Name)
			if err := c.Partly(err); err != nil {
				return err
			}
			for _, p := range all {
				plans = append(plans, planOf{t.Name, p})
			}
		}
		if len(plans) == 0 && !c.JSON {
			of := ""
			if len(c.Args) > 0 {
				of = " in " + words.Legible(topics[0].Name)
			}
			c.Say("no plans%s%s", of, c.WhereLooked())
			return nil
		}
		return show(ctx, c, plans)
	}},
}

// planOf is a plan of a topic.
type planOf struct {
	topic string
	plans.Plan
}

// show shows plans, without the topic if the call names it.
func show(ctx context.Context, c *frame.Call, plans []planOf) error {
	if !c.JSON {
		if err := frame.Timed(ctx, c); err != nil {
			return err
		}
	}
	heads := []string{"topic", "plan", "next", "slot#", "rule", "content"}
	_, err := frame.List[planOf]{
		All: frame.Each(plans), Heads: heads[len(c.Args):], Object: func(p planOf) any { return wire.PlanOf(p.topic, p.Plan, c.Base64) },
		Row: func(p planOf) []any {
			cells := []any{words.Legible(p.topic), words.Legible(p.Name), story.Comes(p.Plan, c.Now), p.Slot}
			if p.Err != nil {
				cells = append(cells, frame.Red.Of("cannot be read here, see "+c.Name+" doctor"))
			} else {
				cells = append(cells, words.Legible(c.Style().Rule(p.Recurring)), c.Text(p.Content))
			}
			return cells[len(c.Args):]
		},
	}.On(c.Page)
	return err
}
