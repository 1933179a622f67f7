package commands

import (
	"cmp"
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

func (a *app) slotsCommand() *cobra.Command {
	return &cobra.Command{
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
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			i, t, err := a.topic(ctx, args[0])
			if err != nil {
				return err
			}
			slots, err := i.Slots(ctx, t.Name)
			if err := a.partly(err); err != nil {
				return err
			}
			if a.json {
				return a.slotObjects(t.Name, slots)
			}
			now, err := a.now(ctx)
			if err != nil {
				return err
			}
			return a.showHolders(t, slots, now)
		},
	}
}

func (a *app) slotObjects(topic string, slots []inspector.Slot) error {
	for _, s := range slots {
		if err := a.object(wire.SlotOf(topic, s)); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) showHolders(t inspector.Topic, slots []inspector.Slot, now time.Time) error {
	table := a.table("slot#", "worker", "flight#", "since", "attempt#", "state", "held by")
	for _, s := range slots {
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
		since, attempt, holder := "", "", ""
		if s.Holder != "" {
			since, attempt, holder = humantime.Ago(now.Sub(s.Since)), fmt.Sprint(s.Attempt), words.Legible(inspector.HolderName(s.Holder))
		}
		worker := painted{text: words.Legible(s.Worker)}
		switch {
		case s.Worker != "":
		case s.Unseen:
			worker = painted{"?", yellow}
		default:
			worker = painted{"none", yellow}
		}
		table.row(s.Index, worker, s.InFlight, since, attempt, painted{strings.Join(state, ", "), yellow}, holder)
	}
	if !a.blind(t.Name) && slices.ContainsFunc(slots, func(s inspector.Slot) bool { return s.Unseen }) {
		return a.withNotes(table, []string{words.Legible(t.Name) + " " + a.unseenWhy(t)})
	}
	return table.end()
}

// countSlots are the counts of all slots, for rmq stats --slots.
func (a *app) countSlots(ctx context.Context, i *inspector.Inspector, topics []inspector.Topic) error {
	if len(topics) == 0 && !a.json {
		a.noTopics()
		return nil
	}
	now, err := a.now(ctx)
	if err != nil {
		return err
	}
	table := a.table("topic", "slot#", "waiting#", "due#", "overdue#", "flight#", "retry#", "dead#", "next")
	var unreadable undefined
	for _, t := range topics {
		if t.Slots == 0 {
			unreadable = a.unread(unreadable, t.Name)
			continue
		}
		slots, err := i.Slots(ctx, t.Name)
		if err := a.partly(err); err != nil {
			return err
		}
		if a.json {
			if err := a.slotObjects(t.Name, slots); err != nil {
				return err
			}
			continue
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
			table.row(append(cells, next)...)
		}
	}
	if err := table.end(); err != nil {
		return err
	}
	return a.withoutDefinition(unreadable)
}
