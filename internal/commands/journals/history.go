package journals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/text/story"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

var history = frame.Command{
	Use:   "history TOPIC CONTENT",
	Short: "Show when a message was sent, and what became of it",
	Long: `Show when a message was sent, and what became of it, as the journal has it: in
each slot where it was. Redis is not asked; for where it is now, rmq explain.
Exit code 1 if the journal does not know it.

What was taken, failed or handed back is there if a program keeps it, with
Flow: All. Rows of the last moments may still be on their way.`,
	Example: `  rmq journal history orders "order 4711"
  rmq journal history orders "order 4711" --json`,
	Steps: frame.Steps{frame.OfContent, func(ctx context.Context, c *frame.Call) error {
		j, err := c.NeedJournal(ctx, frame.ToLook)
		if err != nil {
			return err
		}
		found, err := historyOf(ctx, c, j)
		switch {
		case err != nil:
			return err
		case !found.Any():
			return frame.Failed("%s is not in the journal: never sent to %s, or ended longer ago than the journal keeps", c.Brief(c.Content), words.Legible(c.Args[0]))
		}
		found.Show(c)
		return nil
	}},
}

// History is what the journal knows of a content, in each slot where it was.
type History struct {
	topic message.Topic
	in    []ledger.History
}

// Any reports whether the journal knows anything.
func (h History) Any() bool { return len(h.in) > 0 }

// Owed reports whether the content is owed in one of the slots.
func (h History) Owed() bool {
	return slices.ContainsFunc(h.in, func(in ledger.History) bool { return in.Verdict.What == ledger.Owed })
}

// historyOf looks the content of the call up.
func historyOf(ctx context.Context, c *frame.Call, j *frame.Journal) (History, error) {
	topics, err := j.Topics(ctx)
	if err != nil {
		return History{}, err
	}
	at := slices.IndexFunc(topics, func(t ledger.Topic) bool { return t.Name == c.Qualified(c.Args[0]) })
	if at < 0 {
		return History{}, frame.Failed("topic %s %w; %s journal status shows those that are", words.Legible(c.Args[0]), errNotJournaled, c.Name)
	}
	h := History{topic: topics[at].Topic}
	h.in, err = j.History(ctx, topics[at].Name, c.Content)
	return h, err
}

// errNotJournaled is that of a topic which the journal has not met.
var errNotJournaled = errors.New("is not in the journal")

// Known is the history of the content of the call, if there is a journal.
func Known(ctx context.Context, c *frame.Call) (History, error) {
	j, err := c.OpenJournal(ctx, frame.ToLook)
	if err != nil || j == nil {
		return History{}, err
	}
	h, err := historyOf(ctx, c, j)
	if errors.Is(err, errNotJournaled) {
		err = nil
	}
	return h, err
}

// Rows are the rows of a slot for programs.
func (h History) Rows(slot int) []wire.Row {
	for _, in := range h.in {
		if in.Slot == slot {
			return h.rows(in)
		}
	}
	return nil
}

// mostKnown is how many rows are shown below what is said of a message.
const mostKnown = 8

// Describe prints the newest rows of a slot.
func (h History) Describe(c *frame.Call, slot int) {
	if c.Elsewhere() {
		c.Detail("  journal", frame.Indent, "RMQ_JOURNAL is set: rmqd explain shows what it knows, too")
	}
	for _, in := range h.in {
		if in.Slot != slot {
			continue
		}
		all := c.Style().History(h.topic, in)
		more := max(0, len(all)-mostKnown)
		label := "  journal"
		for _, l := range all[more:] {
			text := frame.Moment(l.At) + " " + l.What
			if l.Text != "" {
				text += ", " + l.Text
			}
			c.Detail(label, frame.Indent, text)
			label = ""
		}
		if more > 0 {
			c.Detail("", frame.Indent, fmt.Sprintf("and %s more before: %s journal history shows all", words.Grouped(more), c.Name))
		}
	}
}

// Show prints it all.
func (h History) Show(c *frame.Call) {
	topic := c.Args[0]
	frame.Several(c.Page, h.in, func(in ledger.History) any {
		return historyJSON{topic, c.Shown(c.Content), in.Slot, in.Verdict.What, h.rows(in)}
	}, func(in ledger.History) {
		c.Title(c.Content, in.Slot, topic, ": "+story.Verdict(in.Verdict))
		all := c.Style().History(h.topic, in)
		widest := 0
		for _, l := range all {
			widest = max(widest, len(l.What))
		}
		for _, l := range all {
			label := fmt.Sprintf("  %s  %-*s", frame.Moment(l.At), widest, l.What)
			c.Detail(strings.TrimRight(label, " "), len(label)+2, l.Text)
		}
	})
}

type historyJSON struct {
	Topic string `json:"topic"`
	wire.Shown
	Slot    int        `json:"slot"`
	Verdict string     `json:"verdict"`
	Rows    []wire.Row `json:"rows"`
}

func (h History) rows(in ledger.History) []wire.Row {
	rows := map[int64]wire.Row{}
	for _, s := range in.Sent {
		r := wire.Row{At: wire.At(time.UnixMilli(s.At)), What: story.Sent, Number: s.Number}
		if h.topic.Kind.Timed() {
			r.Due = wire.At(time.UnixMilli(s.Score))
		} else {
			r.Priority = s.Score
		}
		rows[s.ID] = r
	}
	for _, e := range in.Ended {
		rows[e.ID] = wire.Row{At: wire.At(time.UnixMilli(e.At)), What: e.What, Number: e.Number, Attempt: e.Attempt, Worker: e.Worker, Host: e.Host, Reason: e.Reason}
	}
	all := []wire.Row{}
	for _, l := range (story.Style{Moment: frame.Moment}).History(h.topic, in) {
		all = append(all, rows[l.ID])
	}
	return all
}
