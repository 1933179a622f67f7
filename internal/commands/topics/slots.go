package topics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var slots = frame.Command{
	Use:   "slots TOPIC",
	Short: "Show which worker has each slot of a topic",
	Long: `Show which worker has each slot of a topic, and what blocks it.

A slot is handled by one worker at a time, one batch after the other. WORKER is
the worker to which it is assigned, HELD BY the one that has the batch in
flight: they differ while slots move, or if a worker died, until its lease ends.
"(taker)" is a program that has taken a batch for others, such as a gateway.
rmq stats TOPIC --slots shows what waits in each slot. WORKER is ? if ZooKeeper
has it, and you gave no --zk or not the --namespace of the topic.`,
	Example: "  rmq slots orders",
	Steps: frame.Steps{frame.Connect, frame.AtTopic, func(ctx context.Context, c *frame.Call) error {
		all, err := c.Inspector.Slots(ctx, c.Topic.Name)
		if err := c.Partly(err); err != nil {
			return err
		}
		if c.JSON {
			return slotObjects(c.Page, c.Topic.Name, all)
		}
		now, err := c.Time(ctx)
		if err != nil {
			return err
		}
		var notes []string
		if !c.Blind(c.Topic.Name) && slices.ContainsFunc(all, func(s inspector.Slot) bool { return s.Unseen }) {
			notes = []string{words.Legible(c.Topic.Name) + " " + unseen(c, c.Topic)}
		}
		holders(c.Page, all, now).Notes(notes)
		return nil
	}},
}

func slotObjects(p *frame.Page, topic string, all []inspector.Slot) (err error) {
	for _, s := range all {
		err = p.Object(wire.SlotOf(topic, s))
	}
	return err
}

// holders is a table of who has the slots.
func holders(p *frame.Page, all []inspector.Slot, now time.Time) *frame.Table {
	table := p.Table("slot#", "worker", "flight#", "since", "attempt#", "state", "held by")
	for _, s := range all {
		var state []string // what is urgent first, since the end may be cut off
		if s.Holder != "" && !s.LeaseEnds.IsZero() && s.LeaseEnds.Before(now) {
			state = append(state, "lease over")
		}
		switch {
		case s.Paused.IsZero():
		case s.Paused.UnixMilli() == 0: // who paused it did not say when
			state = append(state, "paused")
		default:
			state = append(state, "paused "+humantime.Ago(now.Sub(s.Paused)))
		}
		since, attempt, held := "", "", ""
		if s.Holder != "" {
			since, attempt, held = humantime.Ago(now.Sub(s.Since)), fmt.Sprint(s.Attempt), words.Legible(protocol.HolderName(s.Holder))
		}
		worker := frame.Painted{Text: words.Legible(s.Worker)}
		switch {
		case s.Worker != "":
		case s.Unseen:
			worker = frame.Yellow.Of("?")
		default:
			worker = frame.Yellow.Of("none")
		}
		table.Row(s.Index, worker, s.InFlight, since, attempt, frame.Yellow.Of(strings.Join(state, ", ")), held)
	}
	return table
}

// slots are the counts of all slots, for rmq stats --slots.
func (l *look) slots(ctx context.Context, all []inspector.Topic) error {
	now, err := l.Time(ctx)
	if err != nil {
		return err
	}
	l.table = l.Table("topic", "slot#", "waiting#", "due#", "overdue#", "flight#", "retry#", "dead#", "next")
	err = l.each(all, func(t inspector.Topic) error {
		slots, err := l.Inspector.Slots(ctx, t.Name)
		if err := l.Partly(err); err != nil {
			return err
		}
		if l.JSON {
			return slotObjects(l.Page, t.Name, slots)
		}
		slices.SortStableFunc(slots, func(a, b inspector.Slot) int {
			return cmp.Or(cmp.Compare(b.Due, a.Due), cmp.Compare(b.Waiting+b.Retrying, a.Waiting+a.Retrying))
		})
		for _, s := range slots {
			next := ""
			switch {
			case !s.Paused.IsZero():
				next = "paused"
			case s.Priority > 0:
				next = fmt.Sprintf("priority %d", s.Priority)
			case s.Next.After(now):
				next = humantime.In(s.Next.Sub(now))
			}
			cells := append([]any{words.Legible(t.Name), s.Index}, counted(s.Counts, s.Overdue)...)
			l.table.Row(append(cells, next)...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.table.End()
	return l.withoutDefinition()
}
