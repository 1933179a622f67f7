package journals

import (
	"context"
	"fmt"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/producer"
)

var relay = frame.Command{
	Use:   "relay",
	Short: "Send what programs have put into the outbox",
	Long: `Send what programs have written by SendTx in their own transactions, as soon as
those have committed, until Ctrl-C. A program may do that itself, by
journal.Relay. Of all that run, one works; so let it run twice.

What goes wrong is logged on stderr, and tried again. What is refused for good
is put aside: rmq journal status counts it.`,
	Example: `  rmq journal relay`,
	Steps: frame.Steps{func(ctx context.Context, c *frame.Call) error {
		j, err := c.NeedJournal(ctx, frame.ToServe)
		if err != nil {
			return err
		}
		p, err := c.Producer(ctx, producer.Config{MaxContent: limits.ContentBytes})
		if err != nil {
			return err
		}
		defer p.Close(context.WithoutCancel(ctx))
		fmt.Fprintf(c.Errs, "sending what is put into the outbox of %s, until Ctrl-C\n", words.Legible(j.URL))
		return journal.Relay(ctx, j.Journal, p)
	}},
}
