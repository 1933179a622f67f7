package journals

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var status = frame.Command{
	Use:   "status",
	Short: "Show what the journal holds, and what it has missed",
	Long: `Show what the journal holds: since when, how much, by which programs, what is
owed and dead of each topic, and each time in which it missed something.

  owed   sent, and no end of it is known: it waits, it is in flight, or the
         report of its end is on its way or lost
  dead   failed for good, and neither requeued nor deleted

Redis is not asked. It reads all rows: some seconds for a million.`,
	Example: `  rmq journal status
  rmq journal status --journal postgres://rmq@db1/journal`,
	Steps: frame.Steps{func(ctx context.Context, c *frame.Call) error {
		j, err := c.NeedJournal(ctx, frame.ToLook)
		if err != nil {
			return err
		}
		s, err := j.Status(ctx)
		if err != nil {
			return err
		}
		s.Topics = slices.DeleteFunc(s.Topics, func(t ledger.TopicStatus) bool { return !strings.HasPrefix(t.Topic, c.Qualified("")) })
		s.Forgotten = slices.DeleteFunc(s.Forgotten, func(f record.Forgotten) bool { return !strings.HasPrefix(f.Topic, c.Qualified("")) })
		if c.JSON {
			return c.Object(statusOf(c, j.URL, s))
		}
		showStatus(c, j.URL, s, time.Now())
		return nil
	}},
}

func showStatus(c *frame.Call, from string, s ledger.Status, now time.Time) {
	line := func(label, text string) { c.Detail(label, frame.Indent, text) }
	ago := func(t time.Time) string { return frame.Moment(t) + " (" + humantime.Ago(now.Sub(t)) + ")" }
	line("journal", words.Legible(from))
	if s.Sent+s.Ended > 0 {
		line("since", ago(s.Since))
	}
	line("rows", fmt.Sprintf("%s, %s", words.Count(int(s.Sent), "send"), words.Count(int(s.Ended), "end")))
	line("missed", missedLine(s.Gaps))
	line("written by", writersLine(s, now))
	for _, f := range s.Forgotten {
		line("Redis forgot", forgottenLine(c, f))
	}
	if s.Outbox != (ledger.Outbox{}) {
		line("outbox", outboxLine(s.Outbox, now))
	}
	if len(s.Gaps) > 0 {
		fmt.Fprintln(c.Out)
		t := c.Table("missed from", "to", "sends#", "ends#", "by")
		for _, g := range s.Gaps {
			t.Row(frame.Moment(g.Begins), frame.Moment(g.Ends), words.Grouped(int(g.Sends)), words.Grouped(int(g.Endings)), words.Legible(hostOf(s, g.Writer)))
		}
		t.End()
	}
	if len(s.Topics) == 0 {
		return
	}
	fmt.Fprintln(c.Out)
	t := c.Table("topic", "owed#", "dead#")
	for _, of := range s.Topics {
		t.Row(words.Legible(c.Bare(of.Topic)), words.Grouped(of.Owed), words.Grouped(of.Dead))
	}
	t.End()
}

// forgottenLine says what Redis has forgotten of one topic.
func forgottenLine(c *frame.Call, f record.Forgotten) string {
	noun := "slots"
	if len(f.Slots) == 1 {
		noun = "slot"
	}
	text := fmt.Sprintf("%s of %s, in %s %s", words.Count(f.Messages, "message"), words.Legible(c.Bare(f.Topic)), noun, wire.Ranges(f.Slots))
	if !f.Since.IsZero() {
		text += ", of what came after " + frame.Moment(f.Since)
	}
	return text + ", when it was last compared"
}

// missedLine is what the gaps come to.
func missedLine(gaps []ledger.Gap) string {
	var sends, ends int64
	for _, g := range gaps {
		sends, ends = sends+g.Sends, ends+g.Endings
	}
	if len(gaps) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%s and %s, see below", words.Count(int(sends), "send"), words.Count(int(ends), "end"))
}

// writersLine says which programs write, and what may not be written yet.
func writersLine(s ledger.Status, now time.Time) string {
	alive, vanished := 0, 0
	for _, w := range s.Writers {
		switch {
		case w.Alive:
			alive++
		case w.Closed.IsZero():
			vanished++
		}
	}
	text := "no program at present"
	if alive > 0 {
		text = fmt.Sprintf("%s; all of %s ago and before is here", words.Count(alive, "program"), humantime.Duration(s.Behind))
	}
	if vanished > 0 {
		text += fmt.Sprintf("; %s ended without a last word: what was written in memory only is lost with it", words.Count(vanished, "other"))
	}
	return text
}

// outboxLine says what of SendTx is not sent.
func outboxLine(o ledger.Outbox, now time.Time) string {
	var parts []string
	if o.Waiting > 0 {
		parts = append(parts, fmt.Sprintf("%s to be sent, the oldest for %s", words.Count(int(o.Waiting), "row"), humantime.Duration(now.Sub(o.Since))))
	}
	if o.Refused > 0 {
		parts = append(parts, fmt.Sprintf("%s refused, the oldest because %s", words.Count(int(o.Refused), "row"), words.Legible(o.Reason)))
	}
	return strings.Join(parts, "; ")
}

// hostOf is the host of a writer.
func hostOf(s ledger.Status, writer int64) string {
	for _, w := range s.Writers {
		if w.ID == writer {
			return w.Host
		}
	}
	return "?"
}

type statusJSON struct {
	Journal string       `json:"journal"`
	Since   wire.Stamp   `json:"since,omitzero"`
	Sends   int64        `json:"sends"`
	Ends    int64        `json:"ends"`
	Behind  wire.Millis  `json:"behind_ms"`
	Gaps    []gapJSON    `json:"gaps"`
	Writers []writerJSON `json:"writers"`
	Topics  []owedJSON   `json:"topics"`
	Forgot  []forgotJSON `json:"redis_forgot,omitempty"`
	Outbox  outboxJSON   `json:"outbox"`
}

type gapJSON struct {
	From   wire.Stamp `json:"from"`
	To     wire.Stamp `json:"to"`
	Sends  int64      `json:"sends"`
	Ends   int64      `json:"ends"`
	Writer int64      `json:"writer"`
	Host   string     `json:"host,omitempty"`
}

type writerJSON struct {
	Writer  int64      `json:"writer"`
	Host    string     `json:"host,omitempty"`
	Began   wire.Stamp `json:"began"`
	Flushed wire.Stamp `json:"flushed"`
	Closed  wire.Stamp `json:"closed,omitzero"`
	Alive   bool       `json:"alive"`
}

type forgotJSON struct {
	Topic    string     `json:"topic"`
	Slots    []int      `json:"slots"`
	Messages int        `json:"messages"`
	Since    wire.Stamp `json:"since,omitzero"`
}

// outboxJSON is what of SendTx is not sent.
type outboxJSON struct {
	Waiting int64      `json:"waiting"`
	Since   wire.Stamp `json:"since,omitzero"`
	Refused int64      `json:"refused"`
	Reason  string     `json:"reason,omitempty"`
}

type owedJSON struct {
	Topic string `json:"topic"`
	Owed  int    `json:"owed"`
	Dead  int    `json:"dead"`
}

func statusOf(c *frame.Call, from string, s ledger.Status) statusJSON {
	j := statusJSON{Journal: from, Since: wire.At(s.Since), Sends: s.Sent, Ends: s.Ended, Behind: wire.Millis(s.Behind), Gaps: []gapJSON{}, Writers: []writerJSON{}, Topics: []owedJSON{},
		Outbox: outboxJSON{s.Outbox.Waiting, wire.At(s.Outbox.Since), s.Outbox.Refused, s.Outbox.Reason}}
	for _, g := range s.Gaps {
		j.Gaps = append(j.Gaps, gapJSON{wire.At(g.Begins), wire.At(g.Ends), g.Sends, g.Endings, g.Writer, hostOf(s, g.Writer)})
	}
	for _, w := range s.Writers {
		j.Writers = append(j.Writers, writerJSON{w.ID, w.Host, wire.At(w.Began), wire.At(w.Flushed), wire.At(w.Closed), w.Alive})
	}
	for _, of := range s.Topics {
		j.Topics = append(j.Topics, owedJSON{c.Bare(of.Topic), of.Owed, of.Dead})
	}
	for _, f := range s.Forgotten {
		j.Forgot = append(j.Forgot, forgotJSON{c.Bare(f.Topic), f.Slots, f.Messages, wire.At(f.Since)})
	}
	return j
}
