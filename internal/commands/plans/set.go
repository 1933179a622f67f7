package plans

import (
	"context"
	"errors"
	"fmt"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/inspector/plans"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/story"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

var missedNames = []string{message.MissedOnce.String(), message.MissedSkip.String()}

var set = frame.Command{
	Use:   "set TOPIC NAME",
	Short: "Set a plan, or replace its rule",
	Long: `Set a plan, or replace its rule. The --content is sent at each time of --cron,
or without it once: at --from, or from now on. Then --delay, --period and
--repeat say when:

  --delay 60s                            once, in 60 seconds
  --delay 60s --period 10s --repeat 5    in 60 seconds, and then 5 times more
  --period 10s                           each 10 seconds, without end
  --cron "0 3 * * *" --zone Europe/Berlin
  --cron @hourly --period 1s --repeat 9  each hour ten times

What waits already merges with it: at most one copy waits. The same rule again
changes nothing; another one replaces the one before, and begins anew. A program
that sets the plan with its own rule when it starts has the last word.`,
	Example: `  rmq every set reports nightly --content report --cron "0 3 * * *"
  rmq every set prices look --content "all prices" --period 10m --missed skip`,
	Flags: func(flags *frame.Flags) frame.Steps {
		p := &planning{}
		flags.StringVar(&p.Content, "content", "", "what is sent, and its identity; required")
		flags.StringVar(&p.SlotBasis, "basis", "", "`SlotBasis`: messages of equal ones are handled one at a time; the content unless it is given")
		flags.Int64Var(&p.Priority, "priority", 0, "in a priority topic: `n`, 17 or more")
		flags.StringVar(&p.Cron, "cron", "", "`expression`: minute, hour, day of month, month and day of week, or @daily and the like")
		flags.StringVar(&p.Zone, "zone", "", "time `zone` of --cron, as in Europe/Berlin; UTC unless it is given")
		flags.Var((*frame.Span)(&p.Delay), "delay", "from such a time to the first send, as in 90s")
		flags.Var((*frame.Span)(&p.Period), "period", "from send to send, as in 10s")
		flags.IntVar(&p.Repeat, "repeat", 0, "`n` sends after the first, each a period later")
		flags.Var(&p.from, "from", "send nothing before, as in 2040-01-31T15:04:05Z")
		flags.Var(&p.until, "until", "send nothing after")
		flags.StringVar(&p.missed, "missed", message.MissedOnce.String(), "what no worker was there for is sent `once`, or left out: skip")
		flags.Complete("missed", missedNames)
		return frame.Steps{p.check, frame.Connect, p.topic, p.run}
	},
}

// planning is one call of rmq every set.
type planning struct {
	message.Recurring
	from, until frame.Instant
	missed      string
}

func (p *planning) check(_ context.Context, c *frame.Call) (err error) {
	var known bool
	if p.Missed, known = message.ParseMissed(p.missed); !known {
		return frame.Misused("--missed is %q; it must be %s", p.missed, words.Alternatives(missedNames))
	}
	p.Name, p.From, p.Until = c.Args[1], p.from.Time, p.until.Time
	p.Content, err = c.ReadContent(p.Content)
	return err
}

func (p *planning) topic(ctx context.Context, c *frame.Call) error {
	err := frame.AtTopic(ctx, c)
	switch {
	case errors.Is(err, inspector.ErrUnknownTopic):
		return frame.Failed("%w; a program that uses it defines it, or its first message does: %s send --kind", err, c.Name)
	case err == nil && p.Content == "":
		return frame.Misused("--content is missing: what is to be sent")
	}
	return err
}

func (p *planning) run(ctx context.Context, c *frame.Call) error {
	t := c.Topic
	change, err := c.Inspector.Plans().Set(ctx, t.Name, p.Recurring)
	if err != nil {
		return frame.ByFlag(err)
	}
	if err := frame.Timed(ctx, c); err != nil {
		return err
	}
	set, err := named(ctx, c)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%s: %s, in slot %d of %s, %s", words.Legible(p.Name), change, set.Slot, words.Legible(t.Name), story.Comes(set, c.Now))
	if !set.Next.IsZero() {
		line += " (" + frame.Moment(set.Next) + ")"
	} else if change == plans.Kept {
		line += "; to begin it again, " + c.Name + " every stop it first"
	}
	if change == plans.Unsent {
		line += "; it was set with different rules in turn, and nothing was sent between"
	}
	return c.Answer(wire.PlanSet{Plan: wire.PlanOf(t.Name, set, c.Base64), Change: change.String()}, "%s", line)
}
