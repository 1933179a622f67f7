package dead

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/words"
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
			ch.total, err = c.Inspector.DeadCount(ctx, c.Args[0], q)
		}
		return err
	}
	found, err := c.Inspector.DeadShow(ctx, c.Args[0], c.Content, "")
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

// notDead says that the content of a call is not there.
func notDead(c *frame.Call) error {
	return frame.Failed("%s is not dead in %s; %s explain shows where it is", c.Brief(c.Content), words.Legible(c.Args[0]), c.Name)
}
