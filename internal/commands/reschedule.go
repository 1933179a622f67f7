package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/columns"
	"github.com/slotmq/go-rmq/internal/story"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/message"
)

func (a *app) rescheduleCommand() *cobra.Command {
	var basis string
	var now bool
	var after span
	var at instant
	var priority int64
	cmd := &cobra.Command{
		Use:   "reschedule TOPIC CONTENT",
		Short: "Give a message that waits another time or priority",
		Long: `Give a message that waits another time, or in a priority topic another priority.
One that waits for its retry keeps its attempts; it has a time in all topics.

Nothing is sent: exit code 1 if it does not wait.`,
		Example: `  rmq reschedule prices "price of 4711" --now
  rmq reschedule mails "mail 12" --in 2h
  rmq reschedule orders "order 4711" --priority 900`,
		RunE: func(cmd *cobra.Command, args []string) error {
			given := 0
			for _, name := range []string{"now", "in", "at", "priority"} {
				if cmd.Flags().Changed(name) {
					given++
				}
			}
			if given != 1 || cmd.Flags().Changed("now") && !now {
				return misused("reschedule needs one of --now, --in, --at and --priority")
			}
			if cmd.Flags().Changed("priority") && priority == 0 { // which the inspector takes for none
				return misused("--priority is 0; it must be 17 or more")
			}
			content, err := a.content(args[1])
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			i, err := a.inspector(ctx)
			if err != nil {
				return err
			}
			to := inspector.Move{At: at.Time, In: time.Duration(after), Priority: priority}
			entry, err := i.Reschedule(ctx, args[0], content, basis, to)
			if err != nil {
				return a.unmoved(ctx, i, args[0], content, basis, to, err)
			}
			if a.json {
				return a.object(wire.EntryOf(args[0], entry, a.base64))
			}
			clock, err := a.now(ctx)
			if err != nil {
				return err
			}
			line := fmt.Sprintf("%s in slot %d of %s: %s", columns.Shorten(a.text(content), 60), entry.Slot, words.Legible(args[0]), when(entry, clock))
			if !entry.Due.IsZero() {
				line += " (" + moment(entry.Due) + ")"
			}
			if entry.State == inspector.Retrying {
				line += ", " + story.OfAll(entry.Attempt)
			}
			a.say("%s", line)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&now, "now", false, "due now")
	flags.Var(&after, "in", "due in so long, as in 90s or 2d")
	flags.Var(&at, "at", "due then, as in 2026-01-31T15:04:05Z")
	flags.Int64Var(&priority, "priority", 0, "its new priority `n`, 17 or more")
	flags.StringVar(&basis, "basis", "", "the `SlotBasis` it was sent with: look in its slot only")
	return cmd
}

// unmoved says in the words of this command why a message could not be rescheduled, and
// which flag could do it.
func (a *app) unmoved(ctx context.Context, i *inspector.Inspector, topic, content, basis string, to inspector.Move, err error) error {
	const times = "use --now, --in or --at"
	var invalid *message.InvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Field == "Move":
		return misused("%s is a priority topic: --now, --in and --at are for retries only; use --priority", words.Legible(topic))
	case errors.As(err, &invalid) && invalid.Field == "Priority":
		if t, terr := i.Topic(ctx, topic); terr == nil && t.Kind.Timed() {
			return misused("%s is a %s topic, which has no priorities: %s", words.Legible(topic), t.Kind, times)
		}
	case errors.Is(err, inspector.ErrNotWaiting) && to.Priority > 0:
		found, ferr := i.Explain(ctx, topic, content, basis)
		if ferr != nil {
			return err
		}
		for _, e := range found {
			if e.Retry != nil && !e.Retry.Due.IsZero() {
				return failed("%s: it waits for its retry in slot %d, which has a time and no priority: %s", columns.Shorten(a.text(content), 60), e.Slot, times)
			}
		}
	}
	return byFlag(err)
}
