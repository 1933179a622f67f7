package commands

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

func (a *app) deadDeleteCommand() *cobra.Command {
	var f *deadFilter
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete TOPIC [CONTENT]",
		Short: "Delete dead messages for ever",
		Long: `Delete dead messages for ever: one content, or all that the flags choose, with
what is known of their failures. rmq dead export keeps them elsewhere before.

Only those are meant that died before the beginning. It may be interrupted at
any time, and says how to go on.`,
		Example: `  rmq dead delete orders "order 4711"
  rmq dead delete orders --older-than 30d`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return a.deleteOne(cmd.Context(), cmd, args, f, yes)
			}
			return a.deleteMany(cmd.Context(), cmd, args, f, yes)
		},
	}
	f = filters(cmd, 0)
	asks(cmd, &yes)
	return cmd
}

func (a *app) deleteOne(ctx context.Context, cmd *cobra.Command, args []string, f *deadFilter, yes bool) error {
	found, err := a.named(ctx, cmd, args, f)
	if err != nil {
		return err
	}
	if err := a.confirm(ctx, yes, fmt.Sprintf("delete %s of %s for ever", words.Count(len(found.entries), "dead message"), words.Legible(args[0]))); err != nil {
		return err
	}
	done := wire.Deleted{Topic: args[0]}
	for _, e := range found.entries {
		n, lost, err := found.inspector.DeadDelete(ctx, args[0], only(e), nil)
		done.Deleted, done.Lost = done.Deleted+n, done.Lost+lost
		if err != nil {
			return err
		}
	}
	return a.deleted(done)
}

func (a *app) deleteMany(ctx context.Context, cmd *cobra.Command, args []string, f *deadFilter, yes bool) error {
	i, err := a.inspector(ctx)
	if err != nil {
		return err
	}
	q, err := a.upTo(ctx, i, args[0], f)
	if err != nil {
		return err
	}
	total, err := i.DeadCount(ctx, args[0], q)
	if err != nil {
		return err
	}
	done := wire.Deleted{Topic: args[0]}
	if total > 0 {
		if err := a.confirm(ctx, yes, fmt.Sprintf("delete %s of %s for ever", words.Count(total, "dead message"), words.Legible(args[0]))); err != nil {
			return err
		}
		bar := a.progress("delete", total)
		done.Deleted, done.Lost, err = i.DeadDelete(ctx, args[0], q, bar.show)
		bar.end()
	}
	switch wrong := refused(err); {
	case err == nil:
		return a.deleted(done)
	case wrong != nil:
		return wrong
	}
	done.GoOn = f.rest(cmd, args, q, done.Deleted+done.Lost)
	if a.json {
		if err := a.deleted(done); err != nil {
			return err
		}
	}
	far := fmt.Sprintf("%s of %s deleted", words.Grouped(done.Deleted), words.Grouped(total))
	return a.halted(ctx, err, far+unsure(done.Lost, "deleted"), done.GoOn)
}

func (a *app) deleted(done wire.Deleted) error {
	if a.json {
		return a.object(done)
	}
	if done.Deleted+done.Lost == 0 {
		a.say("no dead message of %s is meant; nothing to delete", words.Legible(done.Topic))
		return nil
	}
	line := fmt.Sprintf("deleted %s of %s", words.Count(done.Deleted, "dead message"), words.Legible(done.Topic))
	if done.Lost > 0 {
		line += fmt.Sprintf("; %s more were not dead any more when they were tried again, since an answer was lost: deleted most likely", words.Grouped(done.Lost))
	}
	a.say("%s", line)
	return nil
}
