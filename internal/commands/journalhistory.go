package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/columns"
	"github.com/slotmq/go-rmq/internal/story"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/message"
)

func (a *app) journalHistoryCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "history TOPIC CONTENT",
		Short: "Show when a message was sent, and what became of it",
		Long: `Show when a message was sent, and what became of it, as the journal has it: in
each slot where it was. Redis is not asked; for where it is now, rmq explain.
Exit code 1 if the journal does not know it.

What was taken, failed or handed back is there if a program keeps it, with
Flow: All. Rows of the last moments may still be on their way.`,
		Example: `  rmq journal history orders "order 4711"
  rmq journal history orders "order 4711" --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			content, err := a.content(args[1])
			if err != nil {
				return err
			}
			j, err := a.needJournal(cmd.Context(), toLook)
			if err != nil {
				return err
			}
			found, err := a.history(cmd.Context(), j, args[0], content)
			if err != nil {
				return err
			}
			if len(found.in) == 0 {
				return failed("%s is not in the journal: never sent to %s, or ended longer ago than the journal keeps", columns.Shorten(a.text(content), 60), words.Legible(args[0]))
			}
			return a.showHistory(found, args[0], content)
		},
	}
}

// historyOf is what the journal knows of a content, in each slot where it was.
type historyOf struct {
	topic message.Topic
	in    []journal.History
}

// owed reports whether the content is owed in one of the slots.
func (h historyOf) owed() bool {
	return slices.ContainsFunc(h.in, func(in journal.History) bool { return in.Verdict.What == journal.Owed })
}

// history looks a content up.
func (a *app) history(ctx context.Context, j *opened, topic, content string) (historyOf, error) {
	topics, err := j.Topics(ctx)
	if err != nil {
		return historyOf{}, err
	}
	at := slices.IndexFunc(topics, func(t journal.Topic) bool { return t.Name == a.qualified(topic) })
	if at < 0 {
		return historyOf{}, failed("topic %s %w; %s journal status shows those that are", words.Legible(topic), errNotJournaled, a.Name)
	}
	found := historyOf{topic: topics[at].Topic}
	found.in, err = j.History(ctx, topics[at].Name, content)
	return found, err
}

// known is the history of a content, if there is a journal.
func (a *app) known(ctx context.Context, topic, content string) (historyOf, error) {
	j, err := a.openJournal(ctx, toLook)
	if err != nil || j == nil {
		return historyOf{}, err
	}
	found, err := a.history(ctx, j, topic, content)
	if errors.Is(err, errNotJournaled) {
		return historyOf{}, nil
	}
	return found, err
}

// errNotJournaled is that of a topic which the journal has not met.
var errNotJournaled = errors.New("is not in the journal")

// rows are the rows of a slot for programs.
func (h historyOf) rows(slot int) []wire.Row {
	for _, in := range h.in {
		if in.Slot == slot {
			return rowsOf(h.topic, in)
		}
	}
	return nil
}

// mostKnown is how many rows explain shows.
const mostKnown = 8

// describeHistory prints the newest rows of a slot below what is said of the message.
func (a *app) describeHistory(known historyOf, slot int) {
	if a.elsewhere() {
		a.detail("  journal", indent, "RMQ_JOURNAL is set: rmqd explain shows what it knows, too")
	}
	for _, in := range known.in {
		if in.Slot != slot {
			continue
		}
		all := a.style().History(known.topic, in)
		label := "  journal"
		for n, l := range all {
			if left := len(all) - n; left > mostKnown {
				continue
			}
			text := moment(l.At) + " " + l.What
			if l.Text != "" {
				text += ", " + l.Text
			}
			a.detail(label, indent, text)
			label = ""
		}
		if more := len(all) - mostKnown; more > 0 {
			a.detail("", indent, fmt.Sprintf("and %s more before: %s journal history shows all", words.Grouped(more), a.Name))
		}
	}
}

func (a *app) showHistory(found historyOf, topic, content string) error {
	for n, h := range found.in {
		if a.json {
			if err := a.object(a.historyOf(found.topic, h, topic, content)); err != nil {
				return err
			}
			continue
		}
		if n > 0 {
			fmt.Fprintln(a.out)
		}
		where := fmt.Sprintf(" in slot %d of %s: %s", h.Slot, columns.Shorten(words.Legible(topic), max(a.width()/2, 20)), story.Verdict(h.Verdict))
		fmt.Fprintln(a.out, a.paint(bold, columns.Shorten(a.text(content), max(a.width()-columns.Of(where), 20)))+where)
		all := a.style().History(found.topic, h)
		widest := 0
		for _, l := range all {
			widest = max(widest, len(l.What))
		}
		for _, l := range all {
			label := fmt.Sprintf("  %s  %-*s", moment(l.At), widest, l.What)
			a.detail(strings.TrimRight(label, " "), len(label)+2, l.Text)
		}
	}
	return nil
}

type historyJSON struct {
	Topic string `json:"topic"`
	wire.Shown
	Slot    int        `json:"slot"`
	Verdict string     `json:"verdict"`
	Rows    []wire.Row `json:"rows"`
}

func (a *app) historyOf(t message.Topic, h journal.History, topic, content string) historyJSON {
	return historyJSON{topic, a.shown(content), h.Slot, h.Verdict.What, rowsOf(t, h)}
}

func rowsOf(t message.Topic, h journal.History) []wire.Row {
	rows := map[int64]wire.Row{}
	for _, s := range h.Sent {
		r := wire.Row{At: wire.At(time.UnixMilli(s.At)), What: story.Sent, Number: s.Number}
		if t.Kind.Timed() {
			r.Due = wire.At(time.UnixMilli(s.Score))
		} else {
			r.Priority = s.Score
		}
		rows[s.ID] = r
	}
	for _, e := range h.Ended {
		rows[e.ID] = wire.Row{At: wire.At(time.UnixMilli(e.At)), What: e.What, Number: e.Number, Attempt: e.Attempt, Worker: e.Worker, Host: e.Host, Reason: e.Reason}
	}
	all := []wire.Row{}
	for _, l := range (story.Style{Moment: moment}).History(t, h) {
		all = append(all, rows[l.ID])
	}
	return all
}
