package commands

import (
	"fmt"
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
	var state, glob string
	var slots []int
	var limit int
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
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(states, state) {
				return misused("--state is %q; it must be %s", state, words.Alternatives(states))
			}
			if limit < 1 {
				return misused("--limit is %d; it must be 1 or more", limit)
			}
			fits := func(string) bool { return true }
			if glob != "" {
				var err error
				if fits, err = inspector.Glob(glob); err != nil {
					return misused("--content: %w", err)
				}
			}
			ctx := cmd.Context()
			i, err := a.inspector(ctx)
			if err != nil {
				return err
			}
			look := limit
			if limit < math.MaxInt {
				look++ // to know whether there are more
			}
			if glob != "" {
				look = math.MaxInt
			}
			now, err := a.now(ctx)
			if err != nil {
				return err
			}
			table := a.table("slot#", "when", "attempt#", "content")
			shown, more := 0, false
			for e, err := range i.Peek(ctx, args[0], inspector.State(state), slots, look) {
				if err := a.partly(err); err != nil {
					return err
				}
				if err != nil { // it is the last
					break
				}
				if !fits(e.Content) {
					continue
				}
				if more = shown == limit; more && glob != "" {
					break
				}
				if more {
					continue // there is no other message, but parts that could not be read may follow
				}
				shown++
				if a.json {
					if err := a.object(wire.EntryOf(args[0], e, a.base64)); err != nil {
						return err
					}
					continue
				}
				attempt := ""
				if e.Attempt > 0 {
					attempt = fmt.Sprint(e.Attempt)
				}
				table.row(e.Slot, when(e, now), attempt, a.text(e.Content))
			}
			if a.json {
				return nil
			}
			if err := table.end(); err != nil {
				return err
			}
			if shown == 0 {
				like := ""
				if glob != "" {
					like = " with a content like " + words.Legible(glob)
				}
				a.say("nothing in %s is %s%s%s", words.Legible(args[0]), state, like, a.whereLooked())
				return nil
			}
			if more {
				a.say("and more; --limit shows more")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&state, "state", states[0], "`state` of those to show: "+words.Alternatives(states))
	slotsFlag(cmd, &slots)
	cmd.Flags().StringVar(&glob, "content", "", "only contents like this `glob`, as in 'order 47*'")
	cmd.Flags().IntVar(&limit, "limit", 20, "show at most `n`")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
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
