package dead

import (
	"context"
	"fmt"
	"strings"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var list = frame.Command{
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
	Flags: func(flags *frame.Flags) frame.Steps {
		var f filter
		var by string
		f.add(flags, 20)
		flags.StringVar(&by, "by", "", "group them by `reason`, and count")
		return frame.Steps{frame.Connect, frame.Timed, func(ctx context.Context, c *frame.Call) error {
			q, err := f.query(c.Now)
			switch {
			case err != nil:
				return err
			case by == "":
				return latest(ctx, c, q, f.any(c))
			case by == "reason":
				return reasons(ctx, c, q)
			}
			return frame.Misused("--by is %q; it must be reason", by)
		}}
	},
}

// latest lists the latest of those that a query selects, and says how many more there are.
func latest(ctx context.Context, c *frame.Call, q inspector.DeadQuery, filtered bool) error {
	q.Newest = true
	listed, err := frame.List[inspector.Entry]{
		All: c.Inspector.Dead().List(ctx, c.Args[0], q), Heads: []string{"died", "slot#", "attempts#", "content", "last error"},
		Object: func(e inspector.Entry) any { return wire.DeadOf(e, c.Base64) },
		Row: func(e inspector.Entry) []any {
			attempts, reason := "", ""
			if e.Failure != nil {
				attempts, reason = fmt.Sprint(e.Failure.Attempts), words.Legible(e.Failure.Reason)
			}
			return []any{humantime.Ago(c.Now.Sub(e.Died)), e.Slot, attempts, c.Text(e.Content), reason}
		},
	}.On(c.Page)
	switch {
	case err != nil || c.JSON:
		return err
	case listed == 0:
		c.Say("no dead message in %s%s%s", words.Legible(c.Args[0]), map[bool]string{true: " that fits"}[filtered], c.WhereLooked())
		return nil
	case listed < q.Limit || q.Limit == 0:
		return nil
	}
	if err := c.Flush(); err != nil { // counting may take longer
		return err
	}
	q.Limit = 0
	all, err := c.Inspector.Dead().Count(ctx, c.Args[0], q)
	if err = c.Partly(err); err == nil && all > listed {
		c.Say("and %s more; --limit shows more, %s dead export all", words.Grouped(all-listed), c.Name)
	}
	return err
}

// reasons lists why messages are dead, the most frequent reason first. The limit of the query is that of reasons.
func reasons(ctx context.Context, c *frame.Call, q inspector.DeadQuery) error {
	limit := q.Limit
	q.Limit = 0
	all, err := c.Inspector.Dead().Reasons(ctx, c.Args[0], q)
	if err := c.Partly(err); err != nil {
		return err
	}
	total := 0
	for _, r := range all {
		total += r.Count
	}
	shown := all
	if limit > 0 {
		shown = all[:min(len(all), limit)]
	}
	_, err = frame.List[inspector.Reason]{
		All: frame.Each(shown), Heads: []string{"dead#", "latest", "content", "last error"},
		Object: func(r inspector.Reason) any { return wire.ReasonOf(c.Args[0], r, c.Base64) },
		Row: func(r inspector.Reason) []any {
			return []any{words.Grouped(r.Count), humantime.Ago(c.Now.Sub(r.Last)), c.Text(r.Latest.Content), reasonText(r)}
		},
	}.On(c.Page)
	switch hidden := len(all) - len(shown); {
	case err != nil || c.JSON:
		return err
	case total == 0:
		c.Say("no dead message in %s%s", words.Legible(c.Args[0]), c.WhereLooked())
	case hidden > 0:
		c.Say("%s for %s; %s more with --limit 0", words.Count(total, "dead message"), words.Count(len(all), "reason"), words.Count(hidden, "reason"))
	default:
		c.Say("%s for %s", words.Count(total, "dead message"), words.Count(len(all), "reason"))
	}
	return nil
}

// reasonText is a reason as people read it.
func reasonText(r inspector.Reason) string {
	switch {
	case r.Rest:
		return "(other reasons)"
	case r.Text == "":
		return "(not known)"
	}
	return words.Legible(r.Text)
}

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
			found, err := c.Inspector.Dead().Show(ctx, c.Args[0], c.Content, basis)
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
		line("worker", words.Legible(protocol.HolderName(f.Worker)))
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
