package dead

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/pattern"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// Command has those about dead messages.
var Command = frame.Command{
	Use:   "dead",
	Short: "List, show, requeue, delete or export dead messages",
	Long: `Dead messages: those whose 17 deliveries failed, and those whose handler gave
them up. They are neither delivered nor removed until you requeue or delete
them.`,
	Changes: true,
	Below:   []frame.Command{list, show, requeue, deletion, export},
}

// choice is which dead messages a command changes: those of one CONTENT, or all that the flags choose.
type choice struct {
	filter
	queries []inspector.DeadQuery // one for each place of a content
	total   int
}

// one reports whether a CONTENT is meant.
func (ch *choice) one(c *frame.Call) bool { return len(c.Args) == 2 }

func (ch *choice) check(ctx context.Context, c *frame.Call) error {
	if !ch.one(c) {
		return nil
	}
	if ch.any(c) {
		return frame.Misused("either a CONTENT or flags that choose, not both: %s", c.UsageLine())
	}
	return frame.OfContent(ctx, c)
}

// find finds them. Of one CONTENT there is at least one: nearly always one.
func (ch *choice) find(ctx context.Context, c *frame.Call) error {
	if !ch.one(c) {
		q, err := ch.upTo(ctx, c)
		if err == nil {
			ch.queries = []inspector.DeadQuery{q}
			ch.total, err = c.Inspector.Dead().Count(ctx, c.Args[0], q)
		}
		return err
	}
	found, err := c.Inspector.Dead().Show(ctx, c.Args[0], c.Content, "")
	if err == nil && len(found) == 0 {
		err = notDead(c)
	}
	for _, e := range found {
		ch.queries = append(ch.queries, inspector.DeadQuery{
			Slots: []int{e.Slot}, Content: func(content string) bool { return content == e.Content },
			OlderThan: e.Died.Add(time.Millisecond), NewerThan: e.Died.Add(-time.Millisecond),
		})
	}
	ch.total = len(found)
	return err
}

// each does that with one query after the other.
func (ch *choice) each(do func(q inspector.DeadQuery) error) error {
	for _, q := range ch.queries {
		if ch.total == 0 {
			break
		}
		if err := do(q); err != nil {
			return err
		}
	}
	return nil
}

// notDead says that the content of a call is not among the dead.
func notDead(c *frame.Call) error {
	return frame.Failed("%s is not dead in %s; %s explain shows where it is", c.Brief(c.Content), words.Legible(c.Args[0]), c.Name)
}

// filter are the flags that say which dead messages are meant.
type filter struct {
	glob, regexp, reason  string
	olderThan, newerThan  frame.Age
	diedBefore, diedAfter frame.Instant
	slots                 frame.Slots
	limit                 int
}

// add gives a command those flags.
func (f *filter) add(flags *frame.Flags, limit int) {
	flags.StringVar(&f.glob, "content", "", "only contents like this `glob`, as in 'order 47*'")
	flags.StringVar(&f.regexp, "content-regex", "", "only contents in which this `regexp` is found")
	flags.StringVar(&f.reason, "reason", "", "only those whose last error contains this `text`")
	flags.Var(&f.olderThan, "older-than", "only those dead for longer, as in 12h or 7d")
	flags.Var(&f.newerThan, "newer-than", "only those dead for less")
	flags.Var(&f.diedBefore, "died-before", "only those that died before, as in 2026-01-31T15:04:05Z")
	flags.Var(&f.diedAfter, "died-after", "only those that died after")
	flags.Slots(&f.slots)
	flags.IntVar(&f.limit, "limit", limit, "at most `n`, 0 for all")
}

// any reports whether one of them was given.
func (f *filter) any(c *frame.Call) bool {
	return slices.ContainsFunc([]string{"content", "content-regex", "reason", "older-than", "newer-than", "died-before", "died-after", "slot", "limit"}, c.Changed)
}

// query is what the flags say, as of now by the server's clock. Without a flag about it, there
// is no end to the times of death: where the clock was set back, some died later than now.
func (f *filter) query(now time.Time) (inspector.DeadQuery, error) {
	q := inspector.DeadQuery{Slots: f.slots, Reason: f.reason, Limit: f.limit, OlderThan: f.diedBefore.Time, NewerThan: f.diedAfter.Time}
	if f.limit < 0 {
		return q, frame.Misused("--limit is %d; it must be 0 or more", f.limit)
	}
	if f.glob != "" && f.regexp != "" {
		return q, frame.Misused("either --content or --content-regex, not both")
	}
	var err error
	if f.glob != "" {
		if q.Content, err = pattern.Glob(f.glob); err != nil {
			return q, frame.Misused("--content: %w", err)
		}
	}
	if f.regexp != "" {
		if q.Content, err = pattern.Regexp(f.regexp); err != nil {
			return q, frame.Misused("--content-regex: %w", err)
		}
	}
	wire.Aged(&q, now, time.Duration(f.olderThan.Span), time.Duration(f.newerThan.Span))
	return q, nil
}

// upTo is the query of a command that may be interrupted and gone on with. It stops at the
// time it began: later deaths are left out, so no message is met twice.
func (f *filter) upTo(ctx context.Context, c *frame.Call) (inspector.DeadQuery, error) {
	now, err := c.Time(ctx)
	if err != nil {
		return inspector.DeadQuery{}, err
	}
	q, err := f.query(now)
	if err != nil || !q.OlderThan.IsZero() {
		return q, err
	}
	latest := now
	for e, err := range c.Inspector.Dead().List(ctx, c.Args[0], inspector.DeadQuery{Slots: q.Slots, Newest: true, Limit: 1, Complete: true}) {
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

// rest is the command that goes on with the same dead messages when so many are done, or empty if the limit is reached.
// It has the flags that make another call mean the same.
func (f *filter) rest(c *frame.Call, q inspector.DeadQuery, done int) string {
	if q.Limit > 0 && done >= q.Limit {
		return ""
	}
	flags := map[string]string{"older-than": "", "newer-than": "", "died-before": frame.Stamp(q.OlderThan)}
	if !q.NewerThan.IsZero() {
		flags["died-after"] = frame.Stamp(q.NewerThan)
	}
	if q.Limit > 0 {
		flags["limit"] = fmt.Sprint(q.Limit - done)
	}
	return c.Again(flags)
}
