package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/columns"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/message"
)

func (a *app) deadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dead",
		Short: "List, show, requeue, delete or export dead messages",
		Long: `Dead messages: those whose 17 deliveries failed, and those whose handler gave
them up. They are neither delivered nor removed until you requeue or delete
them.`,
	}
	cmd.AddCommand(a.deadListCommand(), a.deadShowCommand(), a.tells(a.deadRequeueCommand()), a.tells(a.deadDeleteCommand()), a.deadExportCommand())
	return cmd
}

// deadFilter are the flags that say which dead messages are meant.
type deadFilter struct {
	glob, regexp, reason  string
	olderThan, newerThan  age
	diedBefore, diedAfter instant
	slots                 []int
	limit                 int
}

// filters gives a command those flags.
func filters(cmd *cobra.Command, limit int) *deadFilter {
	f := &deadFilter{}
	flags := cmd.Flags()
	flags.StringVar(&f.glob, "content", "", "only contents like this `glob`, as in 'order 47*'")
	flags.StringVar(&f.regexp, "content-regex", "", "only contents in which this `regexp` is found")
	flags.StringVar(&f.reason, "reason", "", "only those whose last error contains this `text`")
	flags.Var(&f.olderThan, "older-than", "only those dead for longer, as in 12h or 7d")
	flags.Var(&f.newerThan, "newer-than", "only those dead for less")
	flags.Var(&f.diedBefore, "died-before", "only those that died before, as in 2026-01-31T15:04:05Z")
	flags.Var(&f.diedAfter, "died-after", "only those that died after")
	slotsFlag(cmd, &f.slots)
	flags.IntVar(&f.limit, "limit", limit, "at most `n`, 0 for all")
	return f
}

// any reports whether one of them was given.
func (f *deadFilter) any(cmd *cobra.Command) bool {
	for _, name := range []string{"content", "content-regex", "reason", "older-than", "newer-than", "died-before", "died-after", "slot", "limit"} {
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	return false
}

// query is what the flags say, as of now by the server's clock. Without a flag about it, there
// is no end to the times of death: where the clock was set back, some died later than now.
func (f *deadFilter) query(now time.Time) (inspector.DeadQuery, error) {
	q := inspector.DeadQuery{Slots: f.slots, Reason: f.reason, Limit: f.limit, OlderThan: f.diedBefore.Time, NewerThan: f.diedAfter.Time}
	if f.limit < 0 {
		return q, misused("--limit is %d; it must be 0 or more", f.limit)
	}
	if f.glob != "" && f.regexp != "" {
		return q, misused("either --content or --content-regex, not both")
	}
	var err error
	if f.glob != "" {
		if q.Content, err = inspector.Glob(f.glob); err != nil {
			return q, misused("--content: %w", err)
		}
	}
	if f.regexp != "" {
		if q.Content, err = inspector.Regexp(f.regexp); err != nil {
			return q, misused("--content-regex: %w", err)
		}
	}
	wire.Aged(&q, now, time.Duration(f.olderThan.span), time.Duration(f.newerThan.span))
	return q, nil
}

// upTo is the query of a command that may be interrupted and gone on with. It has an end: what
// dies after the beginning is not meant, so that a message which dies again is not met again.
func (a *app) upTo(ctx context.Context, i *inspector.Inspector, topic string, f *deadFilter) (inspector.DeadQuery, error) {
	now, err := a.now(ctx)
	if err != nil {
		return inspector.DeadQuery{}, err
	}
	q, err := f.query(now)
	if err != nil || !q.OlderThan.IsZero() {
		return q, err
	}
	latest := now
	for e, err := range i.Dead(ctx, topic, inspector.DeadQuery{Slots: q.Slots, Newest: true, Limit: 1, Complete: true}) {
		if err != nil {
			return q, err
		}
		if e.Died.After(latest) {
			latest = e.Died
		}
	}
	return ended(q, latest), nil
}

// ended is a query up to a time of death and with it, unless it has an end.
func ended(q inspector.DeadQuery, latest time.Time) inspector.DeadQuery {
	if q.OlderThan.IsZero() {
		q.OlderThan = latest.Add(time.Millisecond).Truncate(time.Millisecond)
	}
	return q
}

// same are the flags by which another call means the same messages, less those that are done.
// There are none if the limit is reached.
func (f *deadFilter) same(q inspector.DeadQuery, done int) map[string]string {
	if q.Limit > 0 && done >= q.Limit {
		return nil
	}
	flags := map[string]string{"older-than": "", "newer-than": "", "died-before": stampText(q.OlderThan)}
	if !q.NewerThan.IsZero() {
		flags["died-after"] = stampText(q.NewerThan)
	}
	if q.Limit > 0 {
		flags["limit"] = fmt.Sprint(q.Limit - done)
	}
	return flags
}

// refused says in words of the flags that the inspector takes them for a mistake, so that
// nothing was changed; nil if that is not what err says.
func refused(err error) error {
	var invalid *message.InvalidError
	switch {
	case !errors.As(err, &invalid):
		return nil
	case invalid.Field == "OlderThan":
		return misused("--died-before is %s; it must be %s", invalid.Value, invalid.Limit)
	}
	return err
}

// only is the query for one content, wherever it is dead: an entry of [inspector.DeadShow].
func only(e inspector.Entry) inspector.DeadQuery {
	return inspector.DeadQuery{
		Slots: []int{e.Slot}, Content: func(content string) bool { return content == e.Content },
		OlderThan: e.Died.Add(time.Millisecond), NewerThan: e.Died.Add(-time.Millisecond),
	}
}

// notDead says that a content is not there.
func (a *app) notDead(topic, content string) error {
	return failed("%s is not dead in %s; %s explain shows where it is", columns.Shorten(a.text(content), 60), words.Legible(topic), a.Name)
}

// corpses are the dead messages of one content: nearly always one.
type corpses struct {
	inspector *inspector.Inspector
	entries   []inspector.Entry
}

// named finds those of the CONTENT of a command line. There is at least one.
func (a *app) named(ctx context.Context, cmd *cobra.Command, args []string, f *deadFilter) (corpses, error) {
	if f.any(cmd) {
		return corpses{}, misused("either a CONTENT or flags that choose, not both: %s", usageLine(cmd))
	}
	content, err := a.content(args[1])
	if err != nil {
		return corpses{}, err
	}
	i, err := a.inspector(ctx)
	if err != nil {
		return corpses{}, err
	}
	found, err := i.DeadShow(ctx, args[0], content, "")
	if err == nil && len(found) == 0 {
		err = a.notDead(args[0], content)
	}
	return corpses{i, found}, err
}
