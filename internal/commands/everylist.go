package commands

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/story"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

func (a *app) everyListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [TOPIC]",
		Short: "List plans, and when each sends next",
		Long: `List the plans of a topic, or of all topics, and when each sends next. One that
has ended is kept: set again by a program that starts, it does not begin again.`,
		Example: `  rmq every list
  rmq every list reports
  rmq every list reports --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			i, err := a.inspector(ctx)
			if err != nil {
				return err
			}
			topics, err := a.topicsOf(ctx, i, args)
			if err != nil {
				return err
			}
			var plans []planOf
			for _, t := range topics {
				all, err := i.Plans(ctx, t.Name)
				if err := a.partly(err); err != nil {
					return err
				}
				for _, p := range all {
					plans = append(plans, planOf{t.Name, p})
				}
			}
			if len(plans) == 0 && !a.json {
				of := ""
				if len(args) > 0 {
					of = " in " + words.Legible(topics[0].Name)
				}
				a.say("no plans%s%s", of, a.whereLooked())
				return nil
			}
			return a.showPlans(ctx, plans, len(args))
		},
	}
}

// planOf is a plan of a topic.
type planOf struct {
	topic string
	inspector.Plan
}

// showPlans shows plans, without the first columns that are known.
func (a *app) showPlans(ctx context.Context, plans []planOf, known int) error {
	var now time.Time
	if !a.json {
		var err error
		if now, err = a.now(ctx); err != nil {
			return err
		}
	}
	heads := []string{"topic", "plan", "next", "slot#", "rule", "content"}
	_, err := show(a, list[planOf]{
		all: each(plans), heads: heads[known:], object: func(p planOf) any { return wire.PlanOf(p.topic, p.Plan, a.base64) },
		row: func(p planOf) []any {
			cells := []any{words.Legible(p.topic), words.Legible(p.Name), story.Comes(p.Plan, now), p.Slot}
			if p.Err != nil {
				cells = append(cells, painted{"cannot be read here, see " + a.Name + " doctor", red})
			} else {
				cells = append(cells, words.Legible(a.style().Rule(p.Recurring)), a.text(p.Content))
			}
			return cells[known:]
		},
	})
	return err
}
