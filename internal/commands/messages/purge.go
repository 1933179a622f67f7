package messages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var purge = frame.Command{
	Use:   "purge TOPIC",
	Short: "Delete what waits, retries or is dead in a topic",
	Long: `Delete the messages of a topic for ever: those that wait for their first
delivery, those that wait for their retry, and the dead ones; or of these only
what --state and --slot choose. It shows how many there are, and asks you to
type that number. With --dry-run it only shows it.

Deleted with a message: what is known of its failures, its headers and its time
to live. If it was sent with --unique, it may be sent again at once. A journal
notes the end of it, and keeps its history.

Not deleted: what is in flight, which goes on; a batch that was taken by HTTP
is in flight, too. The topic itself, its plans (rmq every stop ends them),
its pauses and its limit.

Workers and senders need not stop. But of what is sent or fails meanwhile, some
may be deleted, too. To prevent that, stop the senders and run rmq pause
before.
It goes in steps of 500 messages at most, at the --rate given. It may be
interrupted at any time, and says how to go on.`,
	Example: `  rmq purge orders --dry-run
  rmq purge orders
  rmq purge orders --state waiting --slot 7 --rate 5000/s`,
	Changes: true,
	Tells:   true,
	Flags: func(flags *frame.Flags) frame.Steps {
		p := &purging{}
		flags.StringSliceVar(&p.states, "state", nil, "only messages in these `states`: "+strings.Join(purgeStates, ","))
		flags.Complete("state", purgeStates)
		flags.Slots(&p.slots)
		flags.Rate(&p.rate)
		flags.DryRun(&p.dry)
		flags.Yes(&p.yes)
		return frame.Steps{p.check, frame.Connect, p.run}
	},
}

var purgeStates = []string{string(inspector.Waiting), string(inspector.Retrying), string(inspector.Dead)}

// purging is one call of rmq purge.
type purging struct {
	states   []string
	slots    frame.Slots
	rate     frame.Pace
	dry, yes bool
}

func (p *purging) check(context.Context, *frame.Call) error {
	for _, s := range p.states {
		if !slices.Contains(purgeStates, s) {
			return frame.Misused("--state is %q; it must be %s, or several of them as in waiting,retrying", s, words.Alternatives(purgeStates))
		}
	}
	return nil
}

func (p *purging) run(ctx context.Context, c *frame.Call) error {
	i, topic, query := c.Inspector, c.Args[0], inspector.PurgeQuery{Slots: p.slots}
	for _, s := range p.states {
		query.States = append(query.States, inspector.State(s))
	}
	would, err := i.PurgeCount(ctx, topic, query)
	switch {
	case err != nil:
		return err
	case p.dry && c.JSON:
		return c.Object(wire.WouldPurge{Topic: topic, Would: would.Total(), Purged: would})
	case would.Total() == 0:
		return p.report(c, would, "")
	case !c.JSON:
		c.Say("%s has %s", words.Legible(topic), p.byState(would))
	}
	if p.dry {
		return nil
	}
	s := frame.Sweep{Verb: "purge", Done: "deleted", Total: would.Total(), Rate: p.rate}
	if err := c.ConfirmNumber(ctx, p.yes, s.Total, s.About("delete", "message", topic, " for ever")); err != nil {
		return err
	}
	var done inspector.Purged
	s.Do = func(show func(int)) (int, int, error) {
		done, err = i.Purge(ctx, topic, query, inspector.PurgeOptions{Rate: float64(p.rate), Progress: func(done inspector.Purged) { show(done.Total()) }})
		return done.Total(), done.Lost, err
	}
	s.GoOn = func() string { return c.Again(nil) }
	s.Report = func(goOn string) error { return p.report(c, done, goOn) }
	return s.Run(ctx, c)
}

// byState are the counts of the states that are meant.
func (p *purging) byState(n inspector.Purged) string {
	var parts []string
	for s, count := range []int{n.Waiting, n.Retrying, n.Dead} {
		if len(p.states) == 0 || slices.Contains(p.states, purgeStates[s]) {
			parts = append(parts, words.Grouped(count)+" "+purgeStates[s])
		}
	}
	text := strings.Join(parts, ", ")
	if p.slots != nil {
		text += " in slots " + p.slots.String()
	}
	return text
}

// report prints what was deleted.
func (p *purging) report(c *frame.Call, done inspector.Purged, goOn string) error {
	topic := words.Legible(c.Args[0])
	line := fmt.Sprintf("deleted %s of %s: %s", words.Count(done.Total(), "message"), topic, p.byState(done))
	switch {
	case done.Total()+done.Lost == 0:
		line = "no message of " + topic + " is meant; nothing to delete"
	case done.Lost > 0:
		line += fmt.Sprintf("; up to %s more, since an answer was lost", words.Grouped(done.Lost))
	}
	return c.Answer(wire.Purged{Topic: c.Args[0], Purged: done, GoOn: goOn}, "%s", line)
}
