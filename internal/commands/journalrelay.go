package commands

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/producer"
)

func (a *app) journalRelayCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "relay",
		Short: "Send what programs have put into the outbox",
		Long: `Send what programs have written by SendTx in their own transactions, as soon as
those have committed, until Ctrl-C. A program may do that itself, by
journal.Relay. Of all that run, one works; so let it run twice.

What goes wrong is logged on stderr, and tried again. What is refused for good
is put aside: rmq journal status counts it.`,
		Example: `  rmq journal relay`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			j, err := a.needJournal(ctx, toServe)
			if err != nil {
				return err
			}
			if _, err := a.inspector(ctx); err != nil { // which connects
				return err
			}
			p, err := producer.New(a.rdb, producer.Config{Namespace: a.space(), Journal: j.Journal, MaxContent: longestContent})
			if err != nil {
				return err
			}
			defer p.Close(context.WithoutCancel(ctx))
			fmt.Fprintf(a.errs, "sending what is put into the outbox of %s, until Ctrl-C\n", words.Legible(j.url))
			return journal.Relay(ctx, j.Journal, p)
		},
	}
}
