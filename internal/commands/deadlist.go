package commands

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/columns"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

func (a *app) deadListCommand() *cobra.Command {
	var f *deadFilter
	var by string
	cmd := &cobra.Command{
		Use:   "list TOPIC",
		Short: "List dead messages, the latest first",
		Long: `List dead messages of a topic, the latest first, each with its last error, and
say how many there are. With --by reason those are counted together whose last
errors are equal but for numbers, which are shown as #; --limit is how many
reasons are listed.`,
		Example: `  rmq dead list orders
  rmq dead list orders --by reason
  rmq dead list orders --reason "timed out" --newer-than 2h
  rmq dead list orders --content 'order 47*' --limit 100`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
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
			if by != "" && by != "reason" {
				return misused("--by is %q; it must be reason", by)
			} else if by != "" {
				return a.deadReasons(ctx, i, args[0], q, now)
			}
			return listDead(ctx, a, i, args[0], q, now, f.any(cmd))
		},
	}
	f = filters(cmd, 20)
	cmd.Flags().StringVar(&by, "by", "", "group them by `reason`, and count")
	return cmd
}

func (a *app) deadShowCommand() *cobra.Command {
	var basis string
	cmd := &cobra.Command{
		Use:   "show TOPIC CONTENT",
		Short: "Show all that is known of a dead message",
		Long: `Show all that is known of a dead message: when it died, how often it was tried,
when it first failed, at which worker, and its whole last error.`,
		Example: `  rmq dead show orders "order 4711"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			content, err := a.content(args[1])
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			i, err := a.inspector(ctx)
			if err != nil {
				return err
			}
			found, err := i.DeadShow(ctx, args[0], content, basis)
			if err := a.partly(err); err != nil {
				return err
			}
			if len(found) == 0 && len(a.missed.Failures) > 0 {
				return failed("%s is not dead in %s%s, see above", columns.Shorten(a.text(content), 60), words.Legible(args[0]), a.whereLooked())
			}
			if len(found) == 0 {
				return a.notDead(args[0], content)
			}
			for n, e := range found {
				if a.json {
					if err := a.object(wire.DeadOf(e, a.base64)); err != nil {
						return err
					}
					continue
				}
				if n > 0 {
					fmt.Fprintln(a.out)
				}
				a.showDead(args[0], e)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&basis, "basis", "", "the `SlotBasis` it was sent with: look in its slot only")
	return cmd
}

// showDead prints a dead message, with nothing shortened.
func (a *app) showDead(topic string, e inspector.Entry) {
	const indent = 17
	line := func(label, text string) { a.detail("  "+label, indent, text) }
	fmt.Fprintln(a.out, a.paint(bold, a.text(e.Content)))
	line("dead in", fmt.Sprintf("slot %d of %s", e.Slot, words.Legible(topic)))
	line("died", moment(e.Died))
	f := e.Failure
	if f == nil {
		line("last error", "nothing is known of its failures")
		return
	}
	line("attempts", fmt.Sprint(f.Attempts))
	line("first failure", moment(f.First))
	line("last failure", moment(f.Last))
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
		fmt.Fprintln(a.out, strings.TrimRight(fmt.Sprintf("%-*s%s", indent, label, text), " "))
		label = ""
	}
}

// listDead lists the latest of those that a query selects, and says how many more there are.
func listDead(ctx context.Context, a *app, i *inspector.Inspector, topic string, q inspector.DeadQuery, now time.Time, filtered bool) error {
	q.Newest = true
	listed, err := show(a, list[inspector.Entry]{
		all: i.Dead(ctx, topic, q), heads: []string{"died", "slot#", "attempts#", "content", "last error"},
		object: func(e inspector.Entry) any { return wire.DeadOf(e, a.base64) },
		row: func(e inspector.Entry) []any {
			attempts, reason := "", ""
			if e.Failure != nil {
				attempts, reason = fmt.Sprint(e.Failure.Attempts), words.Legible(e.Failure.Reason)
			}
			return []any{humantime.Ago(now.Sub(e.Died)), e.Slot, attempts, a.text(e.Content), reason}
		},
	})
	switch {
	case err != nil || a.json:
		return err
	case listed == 0:
		a.say("no dead message in %s%s%s", words.Legible(topic), map[bool]string{true: " that fits"}[filtered], a.whereLooked())
		return nil
	case listed < q.Limit || q.Limit == 0:
		return nil
	}
	if err := a.flush(); err != nil { // counting may take longer
		return err
	}
	q.Limit = 0
	all, err := i.DeadCount(ctx, topic, q)
	if err := a.partly(err); err != nil {
		return err
	}
	if more := all - listed; more > 0 {
		a.say("and %s more; --limit shows more, %s dead export all", words.Grouped(more), a.Name)
	}
	return nil
}
