package commands

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/message"
)

func (a *app) everyRunCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run TOPIC NAME",
		Short: "Send the message of a plan now",
		Long: `Send the message of a plan now, beside its times, which stay as they are. It is
a send like any other: what waits already merges with it.`,
		Example: `  rmq every run reports nightly`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			i, t, err := a.topic(ctx, args[0])
			if err != nil {
				return err
			}
			p, err := a.plan(ctx, i, t.Name, args[1])
			if err != nil {
				return err
			}
			if p.Err != nil {
				return failed("plan %s of %s: %w", words.Legible(p.Name), words.Legible(t.Name), p.Err)
			}
			return a.sendNow(ctx, i, t, p)
		},
	}
}

// sendNow sends the message of a plan.
func (a *app) sendNow(ctx context.Context, i *inspector.Inspector, t inspector.Topic, p inspector.Plan) error {
	value := int64(1) // ms from now
	if !t.Kind.Timed() {
		value = p.Priority
	}
	m := checked.Make(t.Kind, message.Common{Content: p.Content, SlotBasis: p.SlotBasis}, value, true, 0)
	s := &sending{app: a, inspector: i, topic: t.Topic}
	closed, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer closed()
	receipt, err := s.producer.Send(ctx, s.topic, m)
	if err != nil {
		return err
	}
	return s.report(ctx, wire.Draft{Content: p.Content, Basis: p.SlotBasis, Priority: &p.Priority}, receipt)
}
