package messages

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/pattern"
	"github.com/slotmq/go-rmq/internal/text/story"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var states = []string{string(inspector.Waiting), string(inspector.InFlight), string(inspector.Retrying), string(inspector.Dead)}

var peek = frame.Command{
	Use:   "peek TOPIC",
	Short: "Show the messages that come next, or run, or died",
	Long: `Show the messages of a topic: those that come next first, of the dead the
latest first. Nothing is taken or changed. With --content all messages in that
state are looked at until enough fit.`,
	Example: `  rmq peek orders
  rmq peek orders --state retrying --limit 5
  rmq peek orders --state in-flight --slot 7
  rmq peek orders --content 'order 47*'`,
	Flags: func(flags *frame.Flags) frame.Steps {
		p := &peeking{}
		flags.StringVar(&p.state, "state", states[0], "`state` of those to show: "+words.Alternatives(states))
		flags.Complete("state", states)
		flags.Slots(&p.slots)
		flags.StringVar(&p.glob, "content", "", "only contents like this `glob`, as in 'order 47*'")
		flags.IntVar(&p.limit, "limit", 20, "show at most `n`")
		return frame.Steps{p.check, frame.Connect, frame.Timed, p.run}
	},
}

// peeking is one call of rmq peek.
type peeking struct {
	state, glob string
	slots       frame.Slots
	limit       int
	fits        func(content string) bool
	more        bool // than were shown
}

func (p *peeking) check(context.Context, *frame.Call) (err error) {
	switch {
	case !slices.Contains(states, p.state):
		return frame.Misused("--state is %q; it must be %s", p.state, words.Alternatives(states))
	case p.limit < 1:
		return frame.Misused("--limit is %d; it must be 1 or more", p.limit)
	}
	p.fits = func(string) bool { return true }
	if p.glob != "" {
		if p.fits, err = pattern.Glob(p.glob); err != nil {
			return frame.Misused("--content: %w", err)
		}
	}
	return nil
}

func (p *peeking) run(ctx context.Context, c *frame.Call) error {
	topic := c.Args[0]
	shown, err := frame.List[inspector.Entry]{
		All: p.entries(ctx, c.Inspector, topic), Heads: []string{"slot#", "when", "attempt#", "content"},
		Object: func(e inspector.Entry) any { return wire.EntryOf(topic, e, c.Base64) },
		Row: func(e inspector.Entry) []any {
			attempt := ""
			if e.Attempt > 0 {
				attempt = fmt.Sprint(e.Attempt)
			}
			return []any{e.Slot, when(e, c.Now), attempt, c.Text(e.Content)}
		},
	}.On(c.Page)
	switch {
	case err != nil || c.JSON:
		return err
	case shown == 0:
		like := ""
		if p.glob != "" {
			like = " with a content like " + words.Legible(p.glob)
		}
		c.Say("nothing in %s is %s%s%s", words.Legible(topic), p.state, like, c.WhereLooked())
	case p.more:
		c.Say("and more; --limit shows more")
	}
	return nil
}

// entries are those that fit, as many as may be shown.
func (p *peeking) entries(ctx context.Context, i *inspector.Inspector, topic string) iter.Seq2[inspector.Entry, error] {
	look := max(p.limit, p.limit+1) // to know whether there are more, if the largest number of all leaves room for one
	if p.glob != "" {
		look = math.MaxInt
	}
	return func(yield func(inspector.Entry, error) bool) {
		shown := 0
		for e, err := range i.Peek(ctx, topic, inspector.State(p.state), p.slots, look) {
			if err == nil && !p.fits(e.Content) {
				continue
			}
			if err == nil && shown == p.limit {
				p.more = true
				if p.glob != "" {
					return
				}
				continue // there is no other message, but parts that could not be read may follow
			}
			if shown++; !yield(e, err) {
				return
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
