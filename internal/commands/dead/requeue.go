package dead

import (
	"context"
	"fmt"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var requeue = frame.Command{
	Use:   "requeue TOPIC [CONTENT]",
	Short: "Have dead messages delivered again",
	Long: `Have dead messages delivered again: one content, or all that the flags choose,
the oldest death first. Each gets all its deliveries anew. It is due now, or in
a priority topic has the priority it was sent with. Where a live copy exists,
that one goes on as it is, and the dead one is gone.

Only those are meant that died before the beginning, so one that dies again is
not met again. It may be interrupted at any time, and says how to go on.`,
	Example: `  rmq dead requeue orders "order 4711"
  rmq dead requeue orders --rate 100/s
  rmq dead requeue orders --reason "timed out" --newer-than 2h --dry-run`,
	Tells: true,
	Flags: func(flags *frame.Flags) frame.Steps {
		r := &requeuing{}
		r.add(flags, 0)
		flags.Rate(&r.rate)
		flags.Int64Var(&r.priority, "priority", 0, "give all of them priority `n`, 17 or more; each its own unless it is given")
		flags.DryRun(&r.dry)
		flags.Yes(&r.yes)
		return frame.Steps{frame.NoZeroPriority, r.check, frame.Connect, r.find, r.valid, r.run}
	},
}

// requeuing is one call of rmq dead requeue.
type requeuing struct {
	choice
	rate     frame.Pace
	priority int64
	dry, yes bool
	done     inspector.Requeued
}

func (r *requeuing) run(ctx context.Context, c *frame.Call) error {
	s := frame.Sweep{Verb: "requeue", Done: "requeued", Total: r.total, Rate: r.rate, One: r.one(c)}
	what := s.About("requeue", "dead message", c.Args[0], "")
	if r.dry {
		line := "would " + what
		if r.total == 0 {
			line = r.nothing(c)
		}
		return c.Answer(wire.WouldRequeue{Topic: c.Args[0], Would: r.total}, "%s", line)
	}
	if err := c.Confirm(ctx, r.yes || s.One || r.total == 0, what); err != nil {
		return err
	}
	s.Do = func(show func(int)) (int, int, error) {
		options := inspector.RequeueOptions{Rate: float64(r.rate), Priority: r.priority}
		if show != nil {
			options.Progress = func(done inspector.Requeued) { show(seen(done)) }
		}
		err := r.each(func(q inspector.DeadQuery) error {
			done, err := c.Inspector.Dead().Requeue(ctx, c.Args[0], q, options)
			r.done = sum(r.done, done)
			return err
		})
		return seen(r.done) - r.done.Lost, r.done.Lost, err
	}
	s.GoOn = func() string { return r.rest(c, r.queries[0], r.done.Stored+r.done.Merged+r.done.Lost) }
	s.Report = func(goOn string) error {
		return c.Answer(wire.Requeued{Topic: c.Args[0], Requeued: r.done, GoOn: goOn}, "%s", r.line(c))
	}
	return s.Run(ctx, c)
}

// valid refuses a priority that the topic cannot have, before the question.
func (r *requeuing) valid(ctx context.Context, c *frame.Call) error {
	if r.priority == 0 {
		return nil
	}
	if err := frame.AtTopic(ctx, c); err != nil {
		return err
	}
	if c.Topic.Kind.Timed() {
		return frame.Misused("--priority is %d, and %s is a %s topic, which has none", r.priority, words.Legible(c.Topic.Name), c.Topic.Kind)
	}
	return frame.ByFlag(checked.Priority(r.priority))
}

func (r *requeuing) nothing(c *frame.Call) string {
	return "no dead message of " + words.Legible(c.Args[0]) + " is meant; nothing to requeue"
}

// line says what became of them.
func (r *requeuing) line(c *frame.Call) string {
	d := r.done
	if seen(d) == 0 && (r.total == 0 || r.one(c)) {
		return r.nothing(c)
	}
	line := fmt.Sprintf("requeued %s of %s", words.Count(d.Stored+d.Merged, "dead message"), words.Legible(c.Args[0]))
	for _, part := range []struct {
		n    int
		what string
	}{
		{d.Lost, "more were not dead any more when they were tried again, since an answer was lost: requeued most likely"},
		{d.Merged, "of them merged into live copies"},
		{d.Gone, "were not dead any more, or died again"},
		{d.Unknown, "stay dead, since their priority is not known: --priority gives them one"},
	} {
		if part.n > 0 {
			line += "; " + words.Grouped(part.n) + " " + part.what
		}
	}
	return line
}

// seen is how many a requeue has dealt with.
func seen(r inspector.Requeued) int { return r.Stored + r.Merged + r.Gone + r.Unknown + r.Lost }

func sum(a, b inspector.Requeued) inspector.Requeued {
	return inspector.Requeued{Stored: a.Stored + b.Stored, Merged: a.Merged + b.Merged, Gone: a.Gone + b.Gone, Unknown: a.Unknown + b.Unknown, Lost: a.Lost + b.Lost}
}
