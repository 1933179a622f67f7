package messages

import (
	"context"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/wire"
)

var cancel = frame.Command{
	Use:   "cancel TOPIC CONTENT",
	Short: "Remove a message that waits, or stop its handler",
	Long: `Remove a message that waits: for its time, its turn or its retry. If it is in
flight, its worker is asked to stop: the context of its handler is cancelled,
and the message is not tried again. A dead one stays; rmq dead delete removes
it. rmq cancel does not ask; run rmq explain first to see the message.

It is found by its content, whatever its basis. If it was sent with --unique, an
equal one is no duplicate from then on, also if it was handled already: then
give the --basis it was sent with. Exit code 1 if it neither waits nor is in
flight.`,
	Example: `  rmq cancel orders "order 4711"
  rmq cancel orders "order 4711" --basis "customer 12"`,
	Changes: true,
	Tells:   true,
	Flags: func(flags *frame.Flags) frame.Steps {
		s := &search{}
		flags.Basis(&s.basis)
		return frame.Steps{frame.OfContent, frame.Connect, frame.AtTopic, s.cancel}
	},
}

func (s *search) cancel(ctx context.Context, c *frame.Call) error {
	unique, _ := s.uniqueUntil(ctx, c) // only to say so
	removed, flying, err := c.Inspector.Cancel(ctx, c.Topic.Name, c.Content, s.basis)
	if err != nil {
		return err
	}
	name := c.Brief(c.Content)
	switch {
	case c.JSON:
		c.Object(wire.Cancelled{Topic: c.Topic.Name, Shown: c.Shown(c.Content), Removed: removed, InFlight: flying})
	case removed && flying:
		c.Say("%s does not wait any more; a copy of it is in flight: asked its worker to stop", name)
	case removed:
		c.Say("%s is cancelled", name)
	case flying:
		c.Say("%s is in flight: asked its worker to stop", name)
	}
	if removed || flying {
		return nil
	}
	// Say where it is instead, as far as that can be read.
	found, err := c.Inspector.Explain(ctx, c.Topic.Name, c.Content, s.basis)
	if err != nil || len(found) > 0 {
		return frame.Failed("%s does not wait; %s explain shows where it is", name, c.Name)
	}
	if still, err := s.uniqueUntil(ctx, c); err == nil && still.IsZero() && !unique.IsZero() {
		return frame.Failed("%s is not here: handled, dropped or deleted; but it is not unique any more, so that it can be sent again", name)
	}
	return s.nowhere(ctx, c)
}
