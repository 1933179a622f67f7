package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
)

func (a *app) explainCommand() *cobra.Command {
	var basis string
	cmd := &cobra.Command{
		Use:   "explain TOPIC CONTENT",
		Short: "Show where a message is and what it waits for",
		Long: `Show where a message is, why it has not run, and what it waits for.

A message is found by its content, byte by byte. It may be in several places: a
new copy waits while an older one is in flight, waits for its retry, or is dead.
Exit code 1 if it is nowhere. If there is a journal, what it knows is shown,
too.`,
		Example: `  rmq explain orders "order 4711"
  rmq explain orders "order 4711" --basis "customer 12"
  rmq explain orders --base64 AAECAw==`,
		RunE: func(cmd *cobra.Command, args []string) error {
			content, err := a.content(args[1])
			if err != nil {
				return err
			}
			known, err := a.known(cmd.Context(), args[0], content)
			if err != nil {
				return err
			}
			i, err := a.inspector(cmd.Context())
			if err != nil {
				return err
			}
			found, err := i.Explain(cmd.Context(), args[0], content, basis)
			if errors.Is(err, inspector.ErrUnknownTopic) && len(known.in) > 0 {
				if err := a.showHistory(known, args[0], content); err != nil {
					return err
				}
				return failed("%w; the journal knows it: if Redis has lost it, %s journal restore brings it back", err, a.Name)
			}
			if err := a.partly(err); err != nil {
				return err
			}
			if len(found) == 0 {
				t, err := i.Topic(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if err := a.showHistory(known, args[0], content); err != nil {
					return err
				}
				return a.nowhere(cmd.Context(), i, t, content, basis, known)
			}
			limit, err := i.Policy(cmd.Context(), args[0])
			if err := a.partly(err); err != nil {
				return err
			}
			for n, e := range found {
				e.WaitsFor = append(e.WaitsFor, slowed(e, limit)...)
				if a.json {
					j := wire.ExplanationOf(e, a.base64)
					j.Journal = known.rows(e.Slot)
					if err := a.object(j); err != nil {
						return err
					}
					continue
				}
				if n > 0 {
					fmt.Fprintln(a.out)
				}
				a.describe(e)
				a.describeHistory(known, e.Slot)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&basis, "basis", "", "the `SlotBasis` it was sent with: look in its slot only")
	return cmd
}

// nowhere says that a message is not in a topic, and which slots were searched. What the journal knows
// of it was printed.
func (a *app) nowhere(ctx context.Context, i *inspector.Inspector, t inspector.Topic, content, basis string, known historyOf) error {
	looked := fmt.Sprintf("all %d slots of %s", t.Slots, legible(t.Name))
	if t.Slots == 1 {
		looked = "the one slot of " + legible(t.Name)
	} else if basis != "" {
		looked = fmt.Sprintf("the slot of basis %s of %s; without --basis all are looked at", legible(shorten(basis, 40)), legible(t.Name))
	}
	if len(a.missed.Failures) > 0 {
		return failed("%s is not here%s, see above", shorten(a.text(content), 60), a.whereLooked())
	}
	if until, err := a.uniqueUntil(ctx, i, t, content, basis); err == nil && !until.IsZero() {
		return failed("%s is not here: handled, dropped or deleted; but unique until %s: an equal one is a duplicate; %s cancel ends that, with the --basis it had, if any; looked in %s",
			shorten(a.text(content), 60), moment(until), a.Name, looked)
	}
	why := ": never sent, handled already, or sent with another content"
	switch {
	case known.owed():
		why = fmt.Sprintf(", and it is owed: unless it was handled just now, %s journal restore brings it back", a.Name)
	case len(known.in) > 0:
		why = " any more: what became of it stands above"
	}
	return failed("%s is not here%s; looked in %s", shorten(a.text(content), 60), why, looked)
}

// uniqueUntil is the latest time until when an equal message is a duplicate; zero if none is.
func (a *app) uniqueUntil(ctx context.Context, i *inspector.Inspector, t inspector.Topic, content, basis string) (latest time.Time, err error) {
	all, err := i.Unique(ctx, t.Name, content, basis)
	if err != nil {
		return latest, err
	}
	now, err := a.now(ctx)
	for _, until := range all {
		if until.After(now) && until.After(latest) {
			latest = until
		}
	}
	return latest, err
}

// slowed says that a message may wait because its topic is limited.
func slowed(e inspector.Explanation, limit inspector.Policy) []string {
	if e.Waiting == nil && e.Retry == nil || limit == (inspector.Policy{}) {
		return nil
	}
	return []string{"the limit of its topic: " + left(limit)}
}

const indent = 16 // of what is said of a place, with its label

// describe prints it for people.
func (a *app) describe(e inspector.Explanation) {
	where := fmt.Sprintf(" in slot %d of %s", e.Slot, shorten(legible(e.Topic.Name), max(a.width()/2, 20)))
	content := shorten(a.text(e.Content), max(a.width()-columns(where), 20))
	fmt.Fprintln(a.out, a.paint(bold, content)+where) // as it is: wrapping would lose spaces
	line := func(label, text string) { a.detail("  "+label, indent, text) }
	exact := func(t wire.Stamp) string { return " (" + moment(t.Time) + ")" }

	if w := e.Waiting; w != nil {
		switch {
		case w.Priority > 0:
			line("waiting", fmt.Sprintf("with priority %d, %s", w.Priority, before(e.Before, e.Beside)))
		default:
			line("waiting", until(w.Due, e.Now)+exact(wire.At(w.Due))+", "+before(e.Before, 0))
		}
	}
	if f := e.Flight; f != nil {
		text := fmt.Sprintf("%s, taken %s by %s, in a batch of %d", ofAll(f.Attempt), humantime.Ago(e.Now.Sub(f.Since)), legible(inspector.HolderName(f.Worker)), f.Batch)
		switch over := e.Now.Sub(f.LeaseEnds); {
		case f.LeaseEnds.IsZero():
		case over < time.Millisecond:
			text += ", lease ends " + humantime.In(-over)
		default:
			text += ", lease ended " + humantime.Ago(over)
		}
		line("in flight", text)
		if r := f.Running; r != nil {
			line("handler", a.ran(r, f.Runs, e.Now))
		}
	}
	if r := e.Retry; r != nil {
		label, text := "retrying", ofAll(r.Attempt)
		if r.Due.IsZero() {
			text += ", at once"
		} else {
			text += ", " + until(r.Due, e.Now) + exact(wire.At(r.Due))
		}
		if e.PutBack != nil && r.Attempt == 1 {
			label = "waiting"
			text += ", put back by its handler"
			if r.Priority > 0 {
				text += fmt.Sprintf(", with priority %d", r.Priority)
			}
		}
		line(label, text)
	}
	if d := e.Dead; d != nil {
		line("dead", "died "+humantime.Ago(e.Now.Sub(d.Died))+exact(wire.At(d.Died))+"; "+a.Name+" dead requeue has it delivered again")
	}
	if p := e.PutBack; p != nil {
		line("put back", putBackLine(p, e.Now))
	}
	if f := e.Failure; f != nil {
		for n, text := range failureLines(f, e) {
			line([]string{"last error", "first failed"}[n], text)
		}
	}
	for _, l := range noteLines(e.Note, e.Now) {
		line(l.label, l.text)
	}
	if !e.Unique.IsZero() {
		line("unique", "for "+humantime.Duration(e.Unique.Sub(e.Now))+exact(wire.At(e.Unique))+": an equal one is a duplicate")
	}
	for n, text := range e.WaitsFor {
		label := "waits for"
		if n > 0 {
			label = "and"
		}
		line(label, legible(text))
	}
}

// ran says what the handler of a batch in flight has run for long: the message that is explained, or another one.
func (a *app) ran(r *inspector.Running, it bool, now time.Time) string {
	ran, timeout := humantime.Duration(now.Sub(r.Since)), humantime.Duration(r.Timeout)
	if now.Sub(r.Since) > r.Timeout {
		ran += ", longer than its Timeout, " + timeout
	}
	switch {
	case it && r.Count > 1:
		return fmt.Sprintf("has run it, and %d more of the batch, for %s", r.Count-1, ran)
	case it:
		return "has run it for " + ran
	case r.Count > 1:
		return fmt.Sprintf("has run %s, and %d more of the batch, for %s", shorten(a.text(r.Content), 60), r.Count-1, ran)
	}
	return fmt.Sprintf("has run another one of the batch, %s, for %s", shorten(a.text(r.Content), 60), ran)
}

// failureLines are the last error and, if there were several, when they began.
func failureLines(f *inspector.Failure, e inspector.Explanation) []string {
	last := legible(f.Reason)
	if f.Reason == "" {
		last = "not known"
	}
	last += fmt.Sprintf(" (attempt %d, %s", f.Attempts, humantime.Ago(e.Now.Sub(f.Last)))
	if f.Worker != "" {
		last += ", by " + legible(inspector.HolderName(f.Worker))
	}
	lines := []string{last + ")"}
	if f.Attempts > 1 && !f.First.IsZero() {
		lines = append(lines, humantime.Ago(e.Now.Sub(f.First))+" ("+moment(f.First)+")")
	}
	return lines
}

// putBackLine says when a handler put a message back, and why.
func putBackLine(p *inspector.PutBack, now time.Time) string {
	text := humantime.Ago(now.Sub(p.Last))
	if p.First.Before(p.Last) {
		text += ", first " + humantime.Ago(now.Sub(p.First))
	}
	if p.Worker != "" && p.Worker != "-" {
		text += ", by " + legible(inspector.HolderName(p.Worker))
	}
	return text + "; no delivery is spent: " + legible(p.Reason)
}

// before says how many go before a message for certain, and how many more may.
func before(n, beside int) string {
	text := fmt.Sprintf("%d go before it", n)
	switch {
	case n == 0 && beside > 0:
		return fmt.Sprintf("%d with the same priority may go before it", beside)
	case n == 0:
		return "none goes before it"
	case n == 1:
		text = "1 goes before it"
	}
	if beside > 0 {
		text += fmt.Sprintf(", and %d with the same priority may", beside)
	}
	return text
}
