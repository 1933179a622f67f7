package messages

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/commands/journals"
	"github.com/slotmq/go-rmq/internal/text/columns"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var explain = frame.Command{
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
	Flags: func(flags *frame.Flags) frame.Steps {
		s := &search{}
		flags.Basis(&s.basis)
		return frame.Steps{frame.OfContent, s.ask, frame.Connect, s.find, s.explain}
	},
}

// search is for the message of a call.
type search struct {
	basis string
	known journals.History
	found []inspector.Explanation
}

// ask asks the journal what it knows.
func (s *search) ask(ctx context.Context, c *frame.Call) (err error) {
	s.known, err = journals.Known(ctx, c)
	return err
}

func (s *search) find(ctx context.Context, c *frame.Call) (err error) {
	s.found, err = c.Inspector.Explain(ctx, c.Args[0], c.Content, s.basis)
	if errors.Is(err, inspector.ErrUnknownTopic) && s.known.Any() {
		s.known.Show(c)
		return frame.Failed("%w; the journal knows it: if Redis has lost it, %s journal restore brings it back", err, c.Name)
	}
	return c.Partly(err)
}

func (s *search) explain(ctx context.Context, c *frame.Call) error {
	if len(s.found) == 0 {
		if err := frame.AtTopic(ctx, c); err != nil {
			return err
		}
		s.known.Show(c)
		return s.nowhere(ctx, c)
	}
	limit, err := c.Inspector.Policy(ctx, c.Args[0])
	if err := c.Partly(err); err != nil {
		return err
	}
	limit.For = humantime.Round(limit.For)
	for n := range s.found {
		if e := &s.found[n]; (e.Waiting != nil || e.Retry != nil) && limit != (inspector.Policy{}) { // it may wait for that
			e.WaitsFor = append(e.WaitsFor, "the limit of its topic: "+limit.String())
		}
	}
	frame.Several(c.Page, s.found, func(e inspector.Explanation) any {
		j := wire.ExplanationOf(e, c.Base64)
		j.Journal = s.known.Rows(e.Slot)
		return j
	}, func(e inspector.Explanation) {
		describe(c, e)
		s.known.Describe(c, e.Slot)
	})
	return nil
}

// describe prints where a message is.
func describe(c *frame.Call, e inspector.Explanation) {
	c.Title(e.Content, e.Slot, e.Topic.Name, "")
	for _, l := range c.Style().Of(e) {
		c.Detail("  "+l.Label, frame.Indent, l.Text)
	}
}

// nowhere says that a message is not in a topic, and which slots were searched. What the journal knows
// of it was printed.
func (s *search) nowhere(ctx context.Context, c *frame.Call) error {
	content, topic := c.Brief(c.Content), words.Legible(c.Topic.Name)
	looked := fmt.Sprintf("all %d slots of %s", c.Topic.Slots, topic)
	if c.Topic.Slots == 1 {
		looked = "the one slot of " + topic
	} else if s.basis != "" {
		looked = fmt.Sprintf("the slot of basis %s of %s; without --basis all are looked at", words.Legible(columns.Shorten(s.basis, 40)), topic)
	}
	if c.Any() {
		return frame.Failed("%s is not here%s, see above", content, c.WhereLooked())
	}
	if until, err := s.uniqueUntil(ctx, c); err == nil && !until.IsZero() {
		return frame.Failed("%s is not here: handled, dropped or deleted; but unique until %s: an equal one is a duplicate; %s cancel ends that, with the --basis it had, if any; looked in %s",
			content, frame.Moment(until), c.Name, looked)
	}
	why := ": never sent, handled already, or sent with another content"
	switch {
	case s.known.Owed():
		why = fmt.Sprintf(", and it is owed: unless it was handled just now, %s journal restore brings it back", c.Name)
	case s.known.Any():
		why = " any more: what became of it stands above"
	}
	return frame.Failed("%s is not here%s; looked in %s", content, why, looked)
}

// uniqueUntil is the latest time until when an equal message is a duplicate; zero if none is.
func (s *search) uniqueUntil(ctx context.Context, c *frame.Call) (latest time.Time, err error) {
	all, err := c.Inspector.Unique(ctx, c.Topic.Name, c.Content, s.basis)
	if err != nil {
		return latest, err
	}
	now, err := c.Time(ctx)
	for _, until := range all {
		if until.After(now) && until.After(latest) {
			latest = until
		}
	}
	return latest, err
}
