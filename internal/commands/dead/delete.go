package dead

import (
	"context"
	"fmt"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var deletion = frame.Command{
	Use:   "delete TOPIC [CONTENT]",
	Short: "Delete dead messages for ever",
	Long: `Delete dead messages for ever: one content, or all that the flags choose, with
what is known of their failures. rmq dead export keeps them elsewhere before.

Only those are meant that died before the beginning. It may be interrupted at
any time, and says how to go on.`,
	Example: `  rmq dead delete orders "order 4711"
  rmq dead delete orders --older-than 30d`,
	Tells: true,
	Flags: func(flags *frame.Flags) frame.Steps {
		d := &deleting{}
		d.add(flags, 0)
		flags.Yes(&d.yes)
		return frame.Steps{d.check, frame.Connect, d.find, d.run}
	},
}

// deleting is one call of rmq dead delete.
type deleting struct {
	choice
	yes bool
}

func (d *deleting) run(ctx context.Context, c *frame.Call) error {
	s := frame.Sweep{Verb: "delete", Done: "deleted", Total: d.total, One: d.one(c)}
	if err := c.Confirm(ctx, d.yes || d.total == 0, s.About("delete", "dead message", c.Args[0], " for ever")); err != nil {
		return err
	}
	done := wire.Deleted{Topic: c.Args[0]}
	s.Do = func(show func(int)) (int, int, error) {
		err := d.each(func(q inspector.DeadQuery) error {
			n, lost, err := c.Inspector.Dead().Delete(ctx, c.Args[0], q, show)
			done.Deleted, done.Lost = done.Deleted+n, done.Lost+lost
			return err
		})
		return done.Deleted, done.Lost, err
	}
	s.GoOn = func() string { return d.rest(c, d.queries[0], done.Deleted+done.Lost) }
	s.Report = func(goOn string) error {
		done.GoOn = goOn
		topic := words.Legible(c.Args[0])
		line := fmt.Sprintf("deleted %s of %s", words.Count(done.Deleted, "dead message"), topic)
		switch {
		case done.Deleted+done.Lost == 0:
			line = "no dead message of " + topic + " is meant; nothing to delete"
		case done.Lost > 0:
			line += fmt.Sprintf("; %s more were not dead any more when they were tried again, since an answer was lost: deleted most likely", words.Grouped(done.Lost))
		}
		return c.Answer(done, "%s", line)
	}
	return s.Run(ctx, c)
}
