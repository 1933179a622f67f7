package commands

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/message"
)

func (a *app) everyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "every",
		Short: "List, set, stop or run plans: what is sent again and again",
		Long: `Plans: what is sent again and again. A plan has a name within its topic, a
content, and a rule that says when. Workers of the topic send it: while none
runs, nothing is sent. Programs set plans, too, mostly each time they start.`,
	}
	cmd.AddCommand(a.everyListCommand(), a.everySetCommand(), a.everyStopCommand(), a.tells(a.everyRunCommand()))
	return cmd
}

// rule is what says when, in words: 0 3 * * * Europe/Berlin, 1m later, 5 times 10s apart.
func rule(m message.Recurring) string {
	var parts []string
	add := func(when bool, format string, args ...any) {
		if when {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(m.Cron != "", "%s", strings.TrimSpace(m.Cron+" "+m.Zone))
	add(m.Cron == "" && m.Period > 0 && m.Repeat == 0, "each %s", exactly(m.Period))
	add(m.Delay > 0, "%s later", exactly(m.Delay))
	add(m.Repeat > 0, "%d times %s apart", m.Repeat+1, exactly(m.Period))
	add(!m.From.IsZero(), "from %s", moment(m.From))
	add(!m.Until.IsZero(), "until %s", moment(m.Until))
	add(m.Missed == message.MissedSkip, "missed ones left out")
	return strings.Join(parts, ", ")
}

// exactly is a duration of a rule, with nothing left out.
func exactly(d time.Duration) string {
	text := humantime.Duration(d)
	if short, err := humantime.ParseSpan(text); err != nil || short != d {
		return d.String()
	}
	return text
}

// comes says when a plan sends next.
func comes(p inspector.Plan, now time.Time) string {
	if p.Next.IsZero() {
		return "ended"
	}
	return until(p.Next, now)
}

// plan finds the plan with a name.
func (a *app) plan(ctx context.Context, i *inspector.Inspector, topic, name string) (inspector.Plan, error) {
	plans, err := i.Plans(ctx, topic)
	for _, p := range plans {
		if p.Name == name {
			return p, nil
		}
	}
	if err := a.partly(err); err != nil {
		return inspector.Plan{}, err
	}
	if len(a.missed.Failures) > 0 {
		return inspector.Plan{}, failed("no plan %s in %s%s, see above", legible(name), legible(topic), a.whereLooked())
	}
	return inspector.Plan{}, a.noPlan(topic, name)
}

func (a *app) noPlan(topic, name string) error {
	return failed("no plan %s in %s; %s every list shows those it has", legible(name), legible(topic), a.Name)
}
