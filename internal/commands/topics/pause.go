package topics

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var pause = frame.Command{
	Use:   "pause TOPIC",
	Short: "Stop a topic, or some of its slots",
	Long: `Stop a topic, or some of its slots: no worker takes anything from them until
rmq resume. What is in flight is finished; sends go on, and wait.

Where some slots cannot be reached, the others are paused, and those are named.`,
	Example: `  rmq pause orders
  rmq pause orders --slot 7`,
	Changes: true,
	Flags: func(flags *frame.Flags) frame.Steps {
		p := pausing{done: "paused", all: "paused", some: "paused before"}
		flags.Slots(&p.slots)
		flags.Yes(&p.yes)
		return frame.Steps{frame.Connect, frame.AtTopic, p.ask, func(ctx context.Context, c *frame.Call) error {
			n, err := c.Inspector.Pause(ctx, c.Topic.Name, p.slots)
			return p.report(c, n, err)
		}}
	},
}

var resume = frame.Command{
	Use:   "resume TOPIC",
	Short: "Let a topic, or some of its slots, go on",
	Long:  `Let a topic, or some of its slots, go on. Their workers are woken.`,
	Example: `  rmq resume orders
  rmq resume orders --slot 7`,
	Changes: true,
	Flags: func(flags *frame.Flags) frame.Steps {
		p := pausing{done: "resumed", all: "at work", some: "not paused"}
		flags.Slots(&p.slots)
		return frame.Steps{frame.Connect, frame.AtTopic, func(ctx context.Context, c *frame.Call) error {
			n, err := c.Inspector.Resume(ctx, c.Topic.Name, p.slots)
			return p.report(c, n, err)
		}}
	},
}

// pausing is one call of rmq pause or rmq resume.
type pausing struct {
	slots           frame.Slots // nil: all
	yes             bool
	done, all, some string // what is said of them: now, and if all or some were so before
}

func (p *pausing) ask(ctx context.Context, c *frame.Call) error {
	return c.Confirm(ctx, p.yes || p.slots != nil, "pause all "+words.Count(c.Topic.Slots, "slot")+" of "+words.Legible(c.Topic.Name))
}

// report says how many of the slots that are meant were changed.
func (p *pausing) report(c *frame.Call, changed int, err error) error {
	if err != nil {
		return err
	}
	meant, which, were := c.Topic.Slots, words.Count(c.Topic.Slots, "slot"), "all were"
	if p.slots != nil {
		slots := slices.Compact(slices.Sorted(slices.Values(p.slots)))
		meant, which = len(slots), "slots "+wire.Ranges(slots)
	}
	if meant == 1 {
		were, which = "it was", strings.Replace(which, "slots ", "slot ", 1)
	}
	line := fmt.Sprintf("%s of %s: ", which, words.Legible(c.Topic.Name))
	switch rest := meant - changed; rest {
	case 0:
		line += p.done
	case meant:
		line += fmt.Sprintf("nothing to do, %s %s before", were, p.all)
	case 1:
		line += fmt.Sprintf("%s (1 was %s)", p.done, p.some)
	default:
		line += fmt.Sprintf("%s (%d were %s)", p.done, rest, p.some)
	}
	return c.Answer(wire.Paused{Topic: c.Topic.Name, Slots: meant, Changed: changed}, "%s", line)
}
