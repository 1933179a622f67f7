package commands

import (
	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

func (a *app) everyStopCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stop TOPIC NAME",
		Short: "End a plan",
		Long: `End a plan: nothing is sent by it any more. What waits already is delivered;
rmq cancel removes it. A program that sets the plan when it starts begins it
again. Exit code 1 if there is no such plan.`,
		Example: `  rmq every stop reports nightly`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			i, t, err := a.topic(ctx, args[0])
			if err != nil {
				return err
			}
			stopped, err := i.StopPlan(ctx, t.Name, args[1])
			if err != nil {
				return err
			}
			if a.json {
				err := a.object(wire.PlanStopped{Topic: t.Name, Name: args[1], Stopped: stopped})
				if err != nil {
					return err
				}
			}
			if !stopped {
				return a.noPlan(t.Name, args[1])
			}
			if !a.json {
				a.say("%s of %s is stopped", words.Legible(args[1]), words.Legible(t.Name))
			}
			return nil
		},
	}
}
