package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/columns"
	"github.com/slotmq/go-rmq/internal/story"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
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
	looked := fmt.Sprintf("all %d slots of %s", t.Slots, words.Legible(t.Name))
	if t.Slots == 1 {
		looked = "the one slot of " + words.Legible(t.Name)
	} else if basis != "" {
		looked = fmt.Sprintf("the slot of basis %s of %s; without --basis all are looked at", words.Legible(columns.Shorten(basis, 40)), words.Legible(t.Name))
	}
	if len(a.missed.Failures) > 0 {
		return failed("%s is not here%s, see above", columns.Shorten(a.text(content), 60), a.whereLooked())
	}
	if until, err := a.uniqueUntil(ctx, i, t, content, basis); err == nil && !until.IsZero() {
		return failed("%s is not here: handled, dropped or deleted; but unique until %s: an equal one is a duplicate; %s cancel ends that, with the --basis it had, if any; looked in %s",
			columns.Shorten(a.text(content), 60), moment(until), a.Name, looked)
	}
	why := ": never sent, handled already, or sent with another content"
	switch {
	case known.owed():
		why = fmt.Sprintf(", and it is owed: unless it was handled just now, %s journal restore brings it back", a.Name)
	case len(known.in) > 0:
		why = " any more: what became of it stands above"
	}
	return failed("%s is not here%s; looked in %s", columns.Shorten(a.text(content), 60), why, looked)
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
	where := fmt.Sprintf(" in slot %d of %s", e.Slot, columns.Shorten(words.Legible(e.Topic.Name), max(a.width()/2, 20)))
	content := columns.Shorten(a.text(e.Content), max(a.width()-columns.Of(where), 20))
	fmt.Fprintln(a.out, a.paint(bold, content)+where) // as it is: wrapping would lose spaces
	for _, l := range a.style().Of(e) {
		a.detail("  "+l.Label, indent, l.Text)
	}
}

// style is how lines about messages are written here.
func (a *app) style() story.Style {
	return story.Style{Moment: moment, Content: func(content string) string { return columns.Shorten(a.text(content), 60) }, Requeue: a.Name + " dead requeue"}
}
