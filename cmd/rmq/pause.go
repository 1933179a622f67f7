package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
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
			i, err := a.inspector(ctx)
			if err != nil {
				return err
			}
			t, err := i.Topic(ctx, args[0])
			if err != nil {
				return err
			}
			if slots == nil {
				what := fmt.Sprintf("pause all of %s, %s", legible(t.Name), many(t.Slots, "slot"))
				if err := a.confirm(ctx, yes, what); err != nil {
					return err
				}
			}
			n, err := i.Pause(ctx, t.Name, slots)
			if err != nil {
				return err
			}
			return a.paused(t.Name, n, chosen(slots, t.Slots), "paused")
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
			i, err := a.inspector(ctx)
			if err != nil {
				return err
			}
			t, err := i.Topic(ctx, args[0])
			if err != nil {
				return err
			}
			n, err := i.Resume(ctx, t.Name, slots)
			if err != nil {
				return err
			}
			return a.paused(t.Name, n, chosen(slots, t.Slots), "resumed")
		},
	}
	slotsFlag(cmd, &slots)
	return cmd
}

func slotsFlag(cmd *cobra.Command, slots *[]int) {
	cmd.Flags().IntSliceVar(slots, "slot", nil, "only these `slots`, as in 3 or 3,7")
}

// chosen is how many slots are meant, each once.
func chosen(slots []int, all int) int {
	if slots == nil {
		return all
	}
	return len(slices.Compact(slices.Sorted(slices.Values(slots))))
}

type pausedJSON struct {
	Topic   string `json:"topic"`
	Slots   int    `json:"slots"`
	Changed int    `json:"changed"`
}

// paused says what was changed of the slots that were meant.
func (a *app) paused(topic string, changed, meant int, done string) error {
	if a.json {
		return a.object(pausedJSON{topic, meant, changed})
	}
	line := fmt.Sprintf("%s of %s: %s", many(meant, "slot"), legible(topic), done)
	if rest := meant - changed; rest == meant {
		line = fmt.Sprintf("%s of %s: nothing to do, all were %s before", many(meant, "slot"), legible(topic), map[string]string{"paused": "paused", "resumed": "at work"}[done])
	} else if rest > 0 {
		line += fmt.Sprintf(" (%d of them before)", rest)
	}
	a.say("%s", line)
	return nil
}
