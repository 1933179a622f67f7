package inspector

import (
	"context"
	"fmt"

	"github.com/slotmq/go-rmq/internal/declaration"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
	"github.com/slotmq/go-rmq/message"
)

// PlanChange is what became of a plan that was set. Its String is the word for it: "added",
// "replaced", "kept", "mended", "unsent".
type PlanChange = declaration.Change

const (
	// PlanAdded: there was none of that name.
	PlanAdded = declaration.Added

	// PlanReplaced: another rule had that name. This one sends what that one owed, and begins now, or
	// goes on where that one was.
	PlanReplaced = declaration.Replaced

	// PlanKept: the same rule was set before, and goes on, or is at its end.
	PlanKept = declaration.Kept

	// PlanMended: there was a rule of that name, and a clock far ahead of the present one has set
	// it, or has moved its plan on: it would have sent nothing until then. This one begins now.
	PlanMended = declaration.Mended

	// PlanUnsent is like PlanReplaced, and for the third time or more nothing was sent since the change
	// before: programs with different rules of that name set them in turn.
	PlanUnsent = declaration.Unsent
)

// SetPlan sets a plan: from now on the workers of the topic send the message at the times of its
// rule. The same rule again changes nothing. Another rule takes the place of the one that has this
// name; where two programs set two of them, the last one holds.
func (i *Inspector) SetPlan(ctx context.Context, topic string, r message.Recurring) (PlanChange, error) {
	if err := given(ctx, "set a plan of topic "+topic); err != nil {
		return 0, err
	}
	t, err := i.Topic(ctx, topic)
	if err != nil {
		return 0, err
	}
	rule, err := plan.New(t.Topic, r, limits.ContentBytes)
	var change PlanChange
	if err == nil {
		_, change, err = i.plansOfTopic(t).Set(ctx, rule)
	}
	if err != nil {
		return 0, fmt.Errorf("set plan %.60q of topic %s: %w", r.Name, topic, err)
	}
	return change, nil
}

// StopPlan ends a plan, and reports whether there was one of that name. What it has sent already
// is delivered.
func (i *Inspector) StopPlan(ctx context.Context, topic, name string) (stopped bool, err error) {
	if err := given(ctx, "stop a plan of topic "+topic); err != nil {
		return false, err
	}
	t, err := i.Topic(ctx, topic)
	if err != nil {
		return false, err
	}
	if stopped, err = i.plansOfTopic(t).Stop(ctx, name); err != nil {
		return stopped, fmt.Errorf("stop plan %q of topic %s: %w", name, topic, err)
	}
	return stopped, nil
}

// plansOfTopic are those that are declared.
func (i *Inspector) plansOfTopic(t Topic) *declaration.Plans {
	p := &declaration.Plans{Redis: i.rdb, Scripts: i.scripts, Topic: t.Topic}
	p.Topic.Name = i.qualified(t.Name)
	p.Silent = func(ctx context.Context, keys []string) []error { return i.masters.silent(ctx, i.rdb, keys) }
	return p
}
