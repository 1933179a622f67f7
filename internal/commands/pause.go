package commands

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

func (a *app) pauseCommand() *cobra.Command {
	var slots []int
	var yes bool
	cmd := &cobra.Command{
		Use:   "pause TOPIC",
		Short: "Stop a topic, or some of its slots",
		Long: `Stop a topic, or some of its slots: no worker takes anything from them until
rmq resume. What is in flight is finished; sends go on, and wait.

Where some slots cannot be reached, the others are paused, and those are named.`,
		Example: `  rmq pause orders
  rmq pause orders --slot 7`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			i, t, err := a.topic(ctx, args[0])
			if err != nil {
				return err
			}
			if slots == nil {
				if err := a.confirm(ctx, yes, "pause all "+words.Count(t.Slots, "slot")+" of "+words.Legible(t.Name)); err != nil {
					return err
				}
			}
			n, err := i.Pause(ctx, t.Name, slots)
			if err != nil {
				return err
			}
			return a.paused(t, n, slots, "paused")
		},
	}
	slotsFlag(cmd, &slots)
	asks(cmd, &yes)
	return cmd
}

func (a *app) resumeCommand() *cobra.Command {
	var slots []int
	cmd := &cobra.Command{
		Use:   "resume TOPIC",
		Short: "Let a topic, or some of its slots, go on",
		Long:  `Let a topic, or some of its slots, go on. Their workers are woken.`,
		Example: `  rmq resume orders
  rmq resume orders --slot 7`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			i, t, err := a.topic(ctx, args[0])
			if err != nil {
				return err
			}
			n, err := i.Resume(ctx, t.Name, slots)
			if err != nil {
				return err
			}
			return a.paused(t, n, slots, "resumed")
		},
	}
	slotsFlag(cmd, &slots)
	return cmd
}

func slotsFlag(cmd *cobra.Command, slots *[]int) {
	cmd.Flags().Var((*slotList)(slots), "slot", "only these `slots`, as in 3, 3,7 or 0-5")
}

// paused reports which of the given slots were changed; nil means all.
func (a *app) paused(t inspector.Topic, changed int, slots []int, done string) error {
	meant, which := t.Slots, words.Count(t.Slots, "slot")
	if slots != nil {
		slots = slices.Compact(slices.Sorted(slices.Values(slots)))
		meant, which = len(slots), "slots "+wire.Ranges(slots)
	}
	were := "all were"
	if meant == 1 {
		were = "it was"
		if slots != nil {
			which = "slot " + wire.Ranges(slots)
		}
	}
	if a.json {
		return a.object(wire.Paused{Topic: t.Name, Slots: meant, Changed: changed})
	}
	line := fmt.Sprintf("%s of %s: %s", which, words.Legible(t.Name), done)
	if rest := meant - changed; rest == meant {
		line = fmt.Sprintf("%s of %s: nothing to do, %s %s before", which, words.Legible(t.Name), were, map[string]string{"paused": "paused", "resumed": "at work"}[done])
	} else if rest > 0 {
		were = map[bool]string{true: "was", false: "were"}[rest == 1]
		line += fmt.Sprintf(" (%d %s %s)", rest, were, map[string]string{"paused": "paused before", "resumed": "not paused"}[done])
	}
	a.say("%s", line)
	return nil
}
