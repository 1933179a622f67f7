package commands

import (
	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/columns"
	"github.com/slotmq/go-rmq/internal/wire"
)

func (a *app) cancelCommand() *cobra.Command {
	var basis string
	cmd := &cobra.Command{
		Use:   "cancel TOPIC CONTENT",
		Short: "Remove a message that waits, or stop its handler",
		Long: `Remove a message that waits: for its time, its turn or its retry. If it is in
flight, its worker is asked to stop: the context of its handler is cancelled,
and the message is not tried again. A dead one stays; rmq dead delete removes
it. rmq cancel does not ask; run rmq explain first to see the message.

It is found by its content, whatever its basis. If it was sent with --unique, an
equal one is no duplicate from then on, also if it was handled already: then
give the --basis it was sent with. Exit code 1 if it neither waits nor is in
flight.`,
		Example: `  rmq cancel orders "order 4711"
  rmq cancel orders "order 4711" --basis "customer 12"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			content, err := a.content(args[1])
			if err != nil {
				return err
			}
			i, t, err := a.topic(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			unique, _ := a.uniqueUntil(cmd.Context(), i, t, content, basis) // only to say so
			removed, flying, err := i.Cancel(cmd.Context(), args[0], content, basis)
			if err != nil {
				return err
			}
			name := columns.Shorten(a.text(content), 60)
			if a.json {
				if err := a.object(wire.Cancelled{Topic: args[0], Shown: a.shown(content), Removed: removed, InFlight: flying}); err != nil {
					return err
				}
			} else if removed && flying {
				a.say("%s does not wait any more; a copy of it is in flight: asked its worker to stop", name)
			} else if removed {
				a.say("%s is cancelled", name)
			} else if flying {
				a.say("%s is in flight: asked its worker to stop", name)
			}
			if removed || flying {
				return nil
			}
			// Say where it is instead, as far as that can be read.
			found, err := i.Explain(cmd.Context(), args[0], content, basis)
			if err == nil && len(found) == 0 {
				if still, err := a.uniqueUntil(cmd.Context(), i, t, content, basis); err == nil && still.IsZero() && !unique.IsZero() {
					return failed("%s is not here: handled, dropped or deleted; but it is not unique any more, so that it can be sent again", name)
				}
				return a.nowhere(cmd.Context(), i, t, content, basis, historyOf{})
			}
			return failed("%s does not wait; %s explain shows where it is", name, a.Name)
		},
	}
	cmd.Flags().StringVar(&basis, "basis", "", "the `SlotBasis` it was sent with: look in its slot only")
	return cmd
}
