package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
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
	if err := a.confirm(ctx, yes, fmt.Sprintf("delete %s of %s for ever", things(len(found.entries), "dead message"), legible(args[0]))); err != nil {
		return err
	}
	deleted := 0
	for _, e := range found.entries {
		n, err := found.inspector.DeadDelete(ctx, args[0], only(e), nil)
		if deleted += n; err != nil {
			return err
		}
	}
	return a.deleted(args[0], deleted, "")
}

func (a *app) deleteMany(ctx context.Context, cmd *cobra.Command, args []string, f *deadFilter, yes bool) error {
	i, err := a.inspector(ctx)
	if err != nil {
		return err
	}
	now, err := a.now(ctx)
	if err != nil {
		return err
	}
	q, err := f.query(now)
	if err != nil {
		return err
	}
	total, err := i.DeadCount(ctx, args[0], q)
	if err != nil {
		return err
	}
	n := 0
	if total > 0 {
		if err := a.confirm(ctx, yes, fmt.Sprintf("delete %s of %s for ever", things(total, "dead message"), legible(args[0]))); err != nil {
			return err
		}
		n, err = a.deleteAll(ctx, i, args[0], q, total)
	}
	if err == nil {
		return a.deleted(args[0], n, "")
	}
	goOn := again(cmd, args, f.same(q, n))
	if a.json {
		if err := a.deleted(args[0], n, goOn); err != nil {
			return err
		}
	}
	return a.halted(ctx, err, fmt.Sprintf("%s of %s deleted", grouped(n), grouped(total)), goOn)
}

func (a *app) deleteAll(ctx context.Context, i *inspector.Inspector, topic string, q inspector.DeadQuery, total int) (int, error) {
	bar := a.progress("delete", total)
	defer bar.end()
	return i.DeadDelete(ctx, topic, q, bar.show)
}

type deletedJSON struct {
	Topic   string `json:"topic"`
	Deleted int    `json:"deleted"`
	GoOn    string `json:"go_on,omitempty"` // if it was interrupted
}

func (a *app) deleted(topic string, n int, goOn string) error {
	if a.json {
		return a.object(deletedJSON{topic, n, goOn})
	}
	if n == 0 {
		a.say("no dead message of %s is meant; nothing to do", legible(topic))
		return nil
	}
	a.say("deleted %s of %s", things(n, "dead message"), legible(topic))
	return nil
}
