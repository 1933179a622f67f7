package main

import (
	"github.com/spf13/cobra"
)

func (a *app) everyListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list TOPIC",
		Short: "List plans, and when each sends next",
		Long: `List the plans of a topic, and when each sends next. One that has ended is kept:
set again by a program that starts, it does not begin again.`,
		Example: `  rmq every list reports
  rmq every list reports --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			i, t, err := a.topic(ctx, args[0])
			if err != nil {
				return err
			}
			plans, err := i.Plans(ctx, t.Name)
			if err := a.partly(err); err != nil {
				return err
			}
			now, err := a.now(ctx)
			if err != nil {
				return err
			}
			table := a.table("plan", "next", "slot#", "rule", "content")
			for _, p := range plans {
				if a.json {
					if err := a.object(a.planOf(t.Name, p)); err != nil {
						return err
					}
					continue
				}
				if p.Err != nil {
					table.row(legible(p.Name), comes(p, now), p.Slot, painted{"cannot be read here, see rmq doctor", red})
					continue
				}
				table.row(legible(p.Name), comes(p, now), p.Slot, legible(rule(p.Recurring)), a.text(p.Content))
			}
			if a.json {
				return nil
			}
			if len(plans) == 0 {
				a.say("no plans in %s%s", legible(t.Name), a.whereLooked())
			}
			return table.end()
		},
	}
}
