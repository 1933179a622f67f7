package commands

import (
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
			of := map[string][]inspector.Plan{}
			plans := 0
			for _, t := range topics {
				all, err := i.Plans(ctx, t.Name)
				if err := a.partly(err); err != nil {
					return err
				}
				of[t.Name] = all
				plans += len(all)
			}
			switch {
			case a.json:
				return a.showPlans(topics, of)
			case plans == 0 && len(args) > 0:
				a.say("no plans in %s%s", words.Legible(topics[0].Name), a.whereLooked())
				return nil
			case plans == 0:
				a.say("no plans%s", a.whereLooked())
				return nil
			}
			now, err := a.now(ctx)
			if err != nil {
				return err
			}
			heads, known := []string{"topic", "plan", "next", "slot#", "rule", "content"}, 0
			if len(args) > 0 {
				known = 1
			}
			table := a.table(heads[known:]...)
			for _, t := range topics {
				for _, p := range of[t.Name] {
					cells := []any{words.Legible(t.Name), words.Legible(p.Name), story.Comes(p, now), p.Slot}
					if p.Err != nil {
						cells = append(cells, painted{"cannot be read here, see " + a.Name + " doctor", red})
					} else {
						cells = append(cells, words.Legible(a.style().Rule(p.Recurring)), a.text(p.Content))
					}
					table.row(cells[known:]...)
				}
			}
			return table.end()
		},
	}
}

// showPlans writes an object for each plan.
func (a *app) showPlans(topics []inspector.Topic, of map[string][]inspector.Plan) error {
	for _, t := range topics {
		for _, p := range of[t.Name] {
			if err := a.object(wire.PlanOf(t.Name, p, a.base64)); err != nil {
				return err
			}
		}
	}
	return nil
}
