package plans

import (
	"context"
	"fmt"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/declaration"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
	"github.com/slotmq/go-rmq/message"
)

// PlanChange is what became of a plan that was set. Its String is the word for it: "added",
// "replaced", "kept", "mended", "unsent".
type Change = declaration.Change

const (
	// PlanAdded: there was none of that name.
	Added = declaration.Added

	// PlanReplaced: another rule had that name. This one sends what that one owed, and begins now, or
	// goes on where that one was.
	Replaced = declaration.Replaced

	// PlanKept: the same rule was set before, and goes on, or is at its end.
	Kept = declaration.Kept

	// PlanMended: there was a rule of that name, and a clock far ahead of the present one has set
	// it, or has moved its plan on: it would have sent nothing until then. This one begins now.
	Mended = declaration.Mended

	// PlanUnsent is like PlanReplaced, and for the third time or more nothing was sent since the change
	// before: programs with different rules of that name set them in turn.
	Unsent = declaration.Unsent
)

// Set sets a plan: from now on the workers of the topic send the message at the times of its
// rule. The same rule again changes nothing. Another rule takes the place of the one that has this
// name; where two programs set two of them, the last one holds.
func (p Plans) Set(ctx context.Context, topic string, r message.Recurring) (Change, error) {
	t, err := p.Ground.About(ctx, "set a plan of topic "+topic, topic)
	if err != nil {
		return 0, err
	}
	rule, err := plan.New(t.Topic, r, limits.ContentBytes)
	var change Change
	if err == nil {
		_, change, err = p.declared(t).Set(ctx, rule)
	}
	if err != nil {
		return 0, fmt.Errorf("set plan %.60q of topic %s: %w", r.Name, topic, err)
	}
	return change, nil
}

// Stop ends a plan, and reports whether there was one of that name. What it has sent already
// is delivered.
func (p Plans) Stop(ctx context.Context, topic, name string) (stopped bool, err error) {
	t, err := p.Ground.About(ctx, "stop a plan of topic "+topic, topic)
	if err != nil {
		return false, err
	}
	if stopped, err = p.declared(t).Stop(ctx, name); err != nil {
		return stopped, fmt.Errorf("stop plan %q of topic %s: %w", name, topic, err)
	}
	return stopped, nil
}

// declared are those of a topic as programs declare them.
func (p Plans) declared(t ask.Topic) *declaration.Plans {
	d := &declaration.Plans{Redis: p.Ground.Redis, Scripts: p.Ground.Scripts, Topic: t.Topic}
	d.Topic.Name = p.Ground.Qualified(t.Name)
	d.Silent = func(ctx context.Context, keys []string) []error {
		return p.Ground.Masters.Silent(ctx, p.Ground.Redis, keys)
	}
	return d
}
