package dead

import (
	"context"
	"fmt"
	"strings"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

var show = frame.Command{
	Use:   "show TOPIC CONTENT",
	Short: "Show all that is known of a dead message",
	Long: `Show all that is known of a dead message: when it died, how often it was tried,
when it first failed, at which worker, and its whole last error.`,
	Example: `  rmq dead show orders "order 4711"`,
	Flags: func(flags *frame.Flags) frame.Steps {
		var basis string
		flags.Basis(&basis)
		return frame.Steps{frame.OfContent, frame.Connect, func(ctx context.Context, c *frame.Call) error {
			found, err := c.Inspector.DeadShow(ctx, c.Args[0], c.Content, basis)
			switch err := c.Partly(err); {
			case err != nil:
				return err
			case len(found) == 0 && c.Any():
				return frame.Failed("%s is not dead in %s%s, see above", c.Brief(c.Content), words.Legible(c.Args[0]), c.WhereLooked())
			case len(found) == 0:
				return notDead(c)
			}
			frame.Several(c.Page, found, func(e inspector.Entry) any { return wire.DeadOf(e, c.Base64) }, func(e inspector.Entry) {
				describe(c.Page, c.Args[0], e)
			})
			return nil
		}}
	},
}

// describe prints a dead message, with nothing shortened.
func describe(p *frame.Page, topic string, e inspector.Entry) {
	const indent = 17
	line := func(label, text string) { p.Detail("  "+label, indent, text) }
	fmt.Fprintln(p.Out, p.Paint(frame.Bold, p.Text(e.Content)))
	line("dead in", fmt.Sprintf("slot %d of %s", e.Slot, words.Legible(topic)))
	line("died", frame.Moment(e.Died))
	f := e.Failure
	if f == nil {
		line("last error", "nothing is known of its failures")
		return
	}
	line("attempts", fmt.Sprint(f.Attempts))
	line("first failure", frame.Moment(f.First))
	line("last failure", frame.Moment(f.Last))
	if f.Worker != "" {
		line("worker", words.Legible(inspector.HolderName(f.Worker)))
	}
	if f.Priority > 0 {
		line("priority", fmt.Sprint(f.Priority))
	}
	if f.Reason == "" {
		line("last error", "not known")
		return
	}
	// Its lines stay as they are, since it may be a trace.
	label := "  last error"
	for text := range strings.SplitSeq(strings.TrimRight(f.Reason, "\r\n"), "\n") {
		text = strings.ReplaceAll(strings.TrimRight(text, "\r "), "\t", "    ")
		if text != "" && words.Legible("."+text+".") != "."+text+"." {
			text = words.Legible(text)
		}
		fmt.Fprintln(p.Out, strings.TrimRight(fmt.Sprintf("%-*s%s", indent, label, text), " "))
		label = ""
	}
}
