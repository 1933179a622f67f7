package plans

import (
	"context"

	"github.com/slotmq/go-rmq/inspector/plans"
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/commands/messages"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

// Command has those about plans.
var Command = frame.Command{
	Use:   "every",
	Short: "List, set, stop or run plans: what is sent again and again",
	Long: `Plans: what is sent again and again. A plan has a name within its topic, a
content, and a rule that says when. Workers of the topic send it: while none
runs, nothing is sent. Programs set plans, too, mostly each time they start.`,
	Changes: true,
	Below:   []frame.Command{list, set, stop, run},
}

var stop = frame.Command{
	Use:   "stop TOPIC NAME",
	Short: "End a plan",
	Long: `End a plan: nothing is sent by it any more. What waits already is delivered;
rmq cancel removes it. A program that sets the plan when it starts begins it
again. Exit code 1 if there is no such plan.`,
	Example: `  rmq every stop reports nightly`,
	Steps: frame.Steps{frame.Connect, frame.AtTopic, func(ctx context.Context, c *frame.Call) error {
		topic, name := c.Topic.Name, c.Args[1]
		stopped, err := c.Inspector.Plans().Stop(ctx, topic, name)
		if err == nil && (stopped || c.JSON) {
			err = c.Answer(wire.PlanStopped{Topic: topic, Name: name, Stopped: stopped}, "%s of %s is stopped", words.Legible(name), words.Legible(topic))
		}
		if err == nil && !stopped {
			err = noPlan(c)
		}
		return err
	}},
}

var run = frame.Command{
	Use:   "run TOPIC NAME",
	Short: "Send the message of a plan now",
	Long: `Send the message of a plan now, beside its times, which stay as they are. It is
a send like any other: what waits already merges with it.`,
	Example: `  rmq every run reports nightly`,
	Tells:   true,
	Steps: frame.Steps{frame.Connect, frame.AtTopic, func(ctx context.Context, c *frame.Call) error {
		t := c.Topic
		p, err := named(ctx, c)
		if err == nil && p.Err != nil {
			err = frame.Failed("plan %s of %s: %w", words.Legible(p.Name), words.Legible(t.Name), p.Err)
		}
		if err != nil {
			return err
		}
		value := int64(1) // ms from now
		if !t.Kind.Timed() {
			value = p.Priority
		}
		m := checked.Make(t.Kind, message.Common{Content: p.Content, SlotBasis: p.SlotBasis}, value, true, 0)
		s := messages.Sender{Call: c, To: t.Topic}
		return s.Send(ctx, wire.Draft{Content: p.Content, Basis: p.SlotBasis, Priority: &p.Priority}, m)
	}},
}

// named finds the plan that the call names.
func named(ctx context.Context, c *frame.Call) (plans.Plan, error) {
	all, err := c.Inspector.Plans().List(ctx, c.Args[0])
	for _, p := range all {
		if p.Name == c.Args[1] {
			return p, nil
		}
	}
	if err = c.Partly(err); err == nil {
		err = noPlan(c)
	}
	return plans.Plan{}, err
}

// noPlan says that there is no plan with the name of the call, as far as can be read.
func noPlan(c *frame.Call) error {
	topic, name := words.Legible(c.Args[0]), words.Legible(c.Args[1])
	if c.Any() {
		return frame.Failed("no plan %s in %s%s, see above", name, topic, c.WhereLooked())
	}
	return frame.Failed("no plan %s in %s; %s every list shows those it has", name, topic, c.Name)
}
