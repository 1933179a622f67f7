package commands

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/story"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

var states = []string{string(inspector.Waiting), string(inspector.InFlight), string(inspector.Retrying), string(inspector.Dead)}

func (a *app) peekCommand() *cobra.Command {
	p := &peeking{app: a}
	cmd := &cobra.Command{
		Use:   "peek TOPIC",
		Short: "Show the messages that come next, or run, or died",
		Long: `Show the messages of a topic: those that come next first, of the dead the
latest first. Nothing is taken or changed. With --content all messages in that
state are looked at until enough fit.`,
		Example: `  rmq peek orders
  rmq peek orders --state retrying --limit 5
  rmq peek orders --state in-flight --slot 7
  rmq peek orders --content 'order 47*'`,
		RunE: func(cmd *cobra.Command, args []string) error { return p.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().StringVar(&p.state, "state", states[0], "`state` of those to show: "+words.Alternatives(states))
	slotsFlag(cmd, &p.slots)
	cmd.Flags().StringVar(&p.glob, "content", "", "only contents like this `glob`, as in 'order 47*'")
	cmd.Flags().IntVar(&p.limit, "limit", 20, "show at most `n`")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}

// peeking is one call of rmq peek.
type peeking struct {
	*app
	state, glob string
	slots       []int
	limit       int
	more        bool // than were shown
}

func (p *peeking) run(ctx context.Context, topic string) error {
	if !slices.Contains(states, p.state) {
		return misused("--state is %q; it must be %s", p.state, words.Alternatives(states))
	}
	if p.limit < 1 {
		return misused("--limit is %d; it must be 1 or more", p.limit)
	}
	fits, like := func(string) bool { return true }, ""
	if p.glob != "" {
		var err error
		if fits, err = inspector.Glob(p.glob); err != nil {
			return misused("--content: %w", err)
		}
		like = " with a content like " + words.Legible(p.glob)
	}
	i, err := p.inspector(ctx)
	if err != nil {
		return err
	}
	now, err := p.now(ctx)
	if err != nil {
		return err
	}
	shown, err := show(p.app, list[inspector.Entry]{
		all: p.entries(ctx, i, topic, fits), heads: []string{"slot#", "when", "attempt#", "content"},
		object: func(e inspector.Entry) any { return wire.EntryOf(topic, e, p.base64) },
		row: func(e inspector.Entry) []any {
			attempt := ""
			if e.Attempt > 0 {
				attempt = fmt.Sprint(e.Attempt)
			}
			return []any{e.Slot, when(e, now), attempt, p.text(e.Content)}
		},
	})
	switch {
	case err != nil || p.json:
		return err
	case shown == 0:
		p.say("nothing in %s is %s%s%s", words.Legible(topic), p.state, like, p.whereLooked())
	case p.more:
		p.say("and more; --limit shows more")
	}
	return nil
}

// entries are those that fit, as many as may be shown.
func (p *peeking) entries(ctx context.Context, i *inspector.Inspector, topic string, fits func(string) bool) iter.Seq2[inspector.Entry, error] {
	look := max(p.limit, p.limit+1) // to know whether there are more, if the largest number of all leaves room for one
	if p.glob != "" {
		look = math.MaxInt
	}
	return func(yield func(inspector.Entry, error) bool) {
		shown := 0
		for e, err := range i.Peek(ctx, topic, inspector.State(p.state), p.slots, look) {
			switch {
			case err == nil && !fits(e.Content):
			case err != nil || shown < p.limit:
				shown++
				if !yield(e, err) {
					return
				}
			case p.glob != "":
				p.more = true
				return
			default:
				p.more = true // there is no other message, but parts that could not be read may follow
			}
		}
	}
}

// when says in a few words when an entry will be delivered, or was.
func when(e inspector.Entry, now time.Time) string {
	switch {
	case e.State == inspector.Dead:
		return "died " + humantime.Ago(now.Sub(e.Died))
	case e.State == inspector.InFlight:
		return "in flight"
	case e.Priority > 0:
		return fmt.Sprintf("priority %d", e.Priority)
	case e.Due.IsZero():
		return "at once"
	}
	return story.Until(e.Due, now)
}
