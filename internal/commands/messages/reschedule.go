package messages

import (
	"context"
	"errors"
	"fmt"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/story"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

var reschedule = frame.Command{
	Use:   "reschedule TOPIC CONTENT",
	Short: "Give a message that waits another time or priority",
	Long: `Give a message that waits another time, or in a priority topic another priority.
One that waits for its retry keeps its attempts; it has a time in all topics.

Nothing is sent: exit code 1 if it does not wait.`,
	Example: `  rmq reschedule prices "price of 4711" --now
  rmq reschedule mails "mail 12" --in 2h
  rmq reschedule orders "order 4711" --priority 900`,
	Changes: true,
	Tells:   true,
	Flags: func(flags *frame.Flags) frame.Steps {
		r := &rescheduling{}
		flags.BoolVar(&r.now, "now", false, "due now")
		flags.Var((*frame.Span)(&r.to.In), "in", "due in so long, as in 90s or 2d")
		flags.Var(&r.at, "at", "due then, as in 2026-01-31T15:04:05Z")
		flags.Int64Var(&r.to.Priority, "priority", 0, "its new priority `n`, 17 or more")
		flags.Basis(&r.basis)
		return frame.Steps{r.check, frame.NoZeroPriority, frame.OfContent, frame.Connect, r.run}
	},
}

// rescheduling is one call of rmq reschedule.
type rescheduling struct {
	to    inspector.Move
	now   bool
	at    frame.Instant
	basis string
}

func (r *rescheduling) check(_ context.Context, c *frame.Call) error {
	given := 0
	for _, name := range []string{"now", "in", "at", "priority"} {
		if c.Changed(name) {
			given++
		}
	}
	if given != 1 || c.Changed("now") && !r.now {
		return frame.Misused("reschedule needs one of --now, --in, --at and --priority")
	}
	return nil
}

func (r *rescheduling) run(ctx context.Context, c *frame.Call) error {
	r.to.At = r.at.Time
	entry, err := c.Inspector.Reschedule(ctx, c.Args[0], c.Content, r.basis, r.to)
	if err != nil {
		return r.unmoved(ctx, c, err)
	}
	if c.JSON {
		return c.Object(wire.EntryOf(c.Args[0], entry, c.Base64))
	}
	if err := frame.Timed(ctx, c); err != nil {
		return err
	}
	line := fmt.Sprintf("%s in slot %d of %s: %s", c.Brief(c.Content), entry.Slot, words.Legible(c.Args[0]), when(entry, c.Now))
	if !entry.Due.IsZero() {
		line += " (" + frame.Moment(entry.Due) + ")"
	}
	if entry.State == inspector.Retrying {
		line += ", " + story.OfAll(entry.Attempt)
	}
	c.Say("%s", line)
	return nil
}

// unmoved says in the words of this command why a message could not be rescheduled, and
// which flag could do it.
func (r *rescheduling) unmoved(ctx context.Context, c *frame.Call, err error) error {
	i, topic := c.Inspector, c.Args[0]
	const times = "use --now, --in or --at"
	var invalid *message.InvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Field == "Move":
		return frame.Misused("%s is a priority topic: --now, --in and --at are for retries only; use --priority", words.Legible(topic))
	case errors.As(err, &invalid) && invalid.Field == "Priority":
		if t, terr := i.Topic(ctx, topic); terr == nil && t.Kind.Timed() {
			return frame.Misused("%s is a %s topic, which has no priorities: %s", words.Legible(topic), t.Kind, times)
		}
	case errors.Is(err, inspector.ErrNotWaiting) && r.to.Priority > 0:
		found, ferr := i.Explain(ctx, topic, c.Content, r.basis)
		if ferr != nil {
			return err
		}
		for _, e := range found {
			if e.Retry != nil && !e.Retry.Due.IsZero() {
				return frame.Failed("%s: it waits for its retry in slot %d, which has a time and no priority: %s", c.Brief(c.Content), e.Slot, times)
			}
		}
	}
	return frame.ByFlag(err)
}
