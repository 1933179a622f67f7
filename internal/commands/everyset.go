package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/story"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/message"
)

// planning are the flags of rmq every set.
type planning struct {
	message.Recurring
	delay, period span
	from, until   instant
	missed        string
}

func (a *app) everySetCommand() *cobra.Command {
	p := &planning{}
	cmd := &cobra.Command{
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
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.setPlan(cmd.Context(), args[0], args[1], p)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&p.Content, "content", "", "what is sent, and its identity; required")
	flags.StringVar(&p.SlotBasis, "basis", "", "`SlotBasis`: messages of equal ones are handled one at a time; the content unless it is given")
	flags.Int64Var(&p.Priority, "priority", 0, "in a priority topic: `n`, 17 or more")
	flags.StringVar(&p.Cron, "cron", "", "`expression`: minute, hour, day of month, month and day of week, or @daily and the like")
	flags.StringVar(&p.Zone, "zone", "", "time `zone` of --cron, as in Europe/Berlin; UTC unless it is given")
	flags.Var(&p.delay, "delay", "from such a time to the first send, as in 90s")
	flags.Var(&p.period, "period", "from send to send, as in 10s")
	flags.IntVar(&p.Repeat, "repeat", 0, "`n` sends after the first, each a period later")
	flags.Var(&p.from, "from", "send nothing before, as in 2040-01-31T15:04:05Z")
	flags.Var(&p.until, "until", "send nothing after")
	flags.StringVar(&p.missed, "missed", message.MissedOnce.String(), "what no worker was there for is sent `once`, or left out: skip")
	_ = cmd.RegisterFlagCompletionFunc("missed", cobra.FixedCompletions(missedNames, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}

var missedNames = []string{message.MissedOnce.String(), message.MissedSkip.String()}

// message is what the flags say.
func (p *planning) message(a *app, name string) (message.Recurring, error) {
	m := p.Recurring
	var known bool
	if m.Missed, known = message.ParseMissed(p.missed); !known {
		return m, misused("--missed is %q; it must be %s", p.missed, words.Alternatives(missedNames))
	}
	content, err := a.content(m.Content)
	m.Name, m.Content = name, content
	m.Delay, m.Period = time.Duration(p.delay), time.Duration(p.period)
	m.From, m.Until = p.from.Time, p.until.Time
	return m, err
}

// setPlan sets what the flags say.
func (a *app) setPlan(ctx context.Context, topic, name string, p *planning) error {
	m, err := p.message(a, name)
	if err != nil {
		return err
	}
	i, t, err := a.topic(ctx, topic)
	switch {
	case errors.Is(err, inspector.ErrUnknownTopic):
		return failed("%w; a program that uses it defines it, or its first message does: %s send --kind", err, a.Name)
	case err != nil:
		return err
	case m.Content == "":
		return misused("--content is missing: what is to be sent")
	}
	change, err := i.SetPlan(ctx, t.Name, m)
	if err != nil {
		return byFlag(err)
	}
	now, err := a.now(ctx)
	if err != nil {
		return err
	}
	set, err := a.plan(ctx, i, t.Name, name)
	if err != nil {
		return err
	}
	if a.json {
		return a.object(wire.PlanSet{Plan: wire.PlanOf(t.Name, set, a.base64), Change: change.String()})
	}
	line := fmt.Sprintf("%s: %s, in slot %d of %s, %s", words.Legible(name), change, set.Slot, words.Legible(t.Name), story.Comes(set, now))
	if !set.Next.IsZero() {
		line += " (" + moment(set.Next) + ")"
	} else if change == inspector.PlanKept {
		line += "; to begin it again, " + a.Name + " every stop it first"
	}
	if change == inspector.PlanUnsent {
		line += "; it was set with different rules in turn, and nothing was sent between"
	}
	a.say("%s", line)
	return nil
}
