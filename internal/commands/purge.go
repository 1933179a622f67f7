package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

func (a *app) purgeCommand() *cobra.Command {
	p := &purge{app: a}
	cmd := &cobra.Command{
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
		RunE: func(cmd *cobra.Command, args []string) error {
			p.cmd, p.args = cmd, args
			for _, s := range p.states {
				if !slices.Contains(purgeStates, s) {
					return misused("--state is %q; it must be %s, or several of them as in waiting,retrying", s, words.Alternatives(purgeStates))
				}
				p.query.States = append(p.query.States, inspector.State(s))
			}
			return p.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&p.states, "state", nil, "only messages in these `states`: "+strings.Join(purgeStates, ","))
	slotsFlag(cmd, &p.query.Slots)
	flags.Var(&p.rate, "rate", "so many a second, as in 100/s or 5000/m; as fast as it goes unless it is given")
	flags.BoolVar(&p.dry, "dry-run", false, "only say how many it would be")
	asks(cmd, &p.yes)
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(purgeStates, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}

var purgeStates = []string{string(inspector.Waiting), string(inspector.Retrying), string(inspector.Dead)}

// purge is one call of rmq purge.
type purge struct {
	*app
	cmd      *cobra.Command
	args     []string
	states   []string
	query    inspector.PurgeQuery
	rate     pace
	dry, yes bool
}

func (p *purge) run(ctx context.Context) error {
	i, err := p.inspector(ctx)
	if err != nil {
		return err
	}
	would, err := i.PurgeCount(ctx, p.args[0], p.query)
	if err != nil {
		return err
	}
	if p.json && p.dry {
		return p.object(wire.WouldPurge{Topic: p.args[0], Would: would.Total(), Purged: would})
	}
	if would.Total() == 0 {
		return p.report(would, "")
	}
	if !p.json {
		p.say("%s has %s", words.Legible(p.args[0]), p.byState(would))
	}
	if p.dry {
		return nil
	}
	if err := p.confirmNumber(ctx, p.yes, would.Total(), p.what(would.Total())); err != nil {
		return err
	}
	bar := p.progress("purge", would.Total())
	bar.most = float64(p.rate)
	done, err := i.Purge(ctx, p.args[0], p.query, inspector.PurgeOptions{
		Rate: float64(p.rate), Progress: func(done inspector.Purged) { bar.show(done.Total()) },
	})
	bar.end()
	if err == nil {
		return p.report(done, "")
	}
	goOn := again(p.cmd, p.args, nil)
	if p.json {
		if err := p.report(done, goOn); err != nil {
			return err
		}
	}
	far := fmt.Sprintf("%s of %s deleted", words.Grouped(done.Total()), words.Grouped(would.Total()))
	return p.halted(ctx, err, far+unsure(done.Lost, "deleted"), goOn)
}

// what says what is about to happen.
func (p *purge) what(n int) string {
	text := fmt.Sprintf("delete %s of %s for ever", words.Count(n, "message"), words.Legible(p.args[0]))
	if rate := float64(p.rate); rate > 0 {
		took := time.Duration(min(max(float64(n)/rate, 1), 1e9)) * time.Second
		text += fmt.Sprintf(", at %v (%s)", p.cmd.Flag("rate").Value, humantime.Duration(took))
	}
	return text
}

// byState are the counts of the states that are meant.
func (p *purge) byState(n inspector.Purged) string {
	var parts []string
	for _, s := range []struct {
		state inspector.State
		count int
	}{{inspector.Waiting, n.Waiting}, {inspector.Retrying, n.Retrying}, {inspector.Dead, n.Dead}} {
		if p.query.States == nil || slices.Contains(p.query.States, s.state) {
			parts = append(parts, words.Grouped(s.count)+" "+string(s.state))
		}
	}
	text := strings.Join(parts, ", ")
	if p.query.Slots != nil {
		text += " in slots " + p.cmd.Flag("slot").Value.String()
	}
	return text
}

// report prints what was deleted.
func (p *purge) report(done inspector.Purged, goOn string) error {
	if p.json {
		return p.object(wire.Purged{Topic: p.args[0], Purged: done, GoOn: goOn})
	}
	if done.Total()+done.Lost == 0 {
		p.say("no message of %s is meant; nothing to delete", words.Legible(p.args[0]))
		return nil
	}
	line := fmt.Sprintf("deleted %s of %s: %s", words.Count(done.Total(), "message"), words.Legible(p.args[0]), p.byState(done))
	if done.Lost > 0 {
		line += fmt.Sprintf("; up to %s more, since an answer was lost", words.Grouped(done.Lost))
	}
	p.say("%s", line)
	return nil
}
