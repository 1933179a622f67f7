package commands

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/words"
)

func (a *app) everyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "every",
		Short: "List, set, stop or run plans: what is sent again and again",
		Long: `Plans: what is sent again and again. A plan has a name within its topic, a
content, and a rule that says when. Workers of the topic send it: while none
runs, nothing is sent. Programs set plans, too, mostly each time they start.`,
	}
	cmd.AddCommand(a.everyListCommand(), a.everySetCommand(), a.everyStopCommand(), a.tells(a.everyRunCommand()))
	return cmd
}

// plan finds the plan with a name.
func (a *app) plan(ctx context.Context, i *inspector.Inspector, topic, name string) (inspector.Plan, error) {
	plans, err := i.Plans(ctx, topic)
	for _, p := range plans {
		if p.Name == name {
			return p, nil
		}
	}
	if err := a.partly(err); err != nil {
		return inspector.Plan{}, err
	}
	if len(a.missed.Failures) > 0 {
		return inspector.Plan{}, failed("no plan %s in %s%s, see above", words.Legible(name), words.Legible(topic), a.whereLooked())
	}
	return inspector.Plan{}, a.noPlan(topic, name)
}

func (a *app) noPlan(topic, name string) error {
	return failed("no plan %s in %s; %s every list shows those it has", words.Legible(name), words.Legible(topic), a.Name)
}
