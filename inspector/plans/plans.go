package plans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/declaration"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
	"github.com/slotmq/go-rmq/message"
)

// Plans are those of all topics. You get them by inspector.Inspector.Plans.
type Plans struct{ Ground *ask.Ground }

// Plan is a message that is sent again and again.
type Plan struct {
	message.Recurring // what is sent, and the rule that says when

	Slot  int
	Set   time.Time // from when its times count: mostly when it was set; this and Next are by the clock of Redis
	Next  time.Time // when it is sent next, or should have been; zero: Ended
	Ended bool      // the rule has no time any more. It is kept, so that to set it again does not begin it again

	// Err is why this program cannot read the rule, of which only the Name is known then: it
	// may be that of a newer program, or of a time zone that this machine does not know.
	Err error
}

// List returns the plans of a topic in the order of their names.
func (p Plans) List(ctx context.Context, topic string) ([]Plan, error) {
	t, err := p.Ground.About(ctx, "list the plans of topic "+topic, topic)
	if err != nil {
		return nil, err
	}
	which, err := p.declared(t).Noted(ctx)
	if err != nil {
		return nil, err
	}
	return p.of(ctx, t, which)
}

// of are the plans of some slots.
func (p Plans) of(ctx context.Context, t ask.Topic, which []int) ([]Plan, error) {
	failed := p.Ground.Failing()
	plans, read, err := ask.OfSlots(ctx, p.Ground, t, which, func(k protocol.SlotKeys) *redis.ScanCmd {
		return rulesFrom(ctx, k.Plans(t.Notes).Rule, 0)
	}, func(k protocol.SlotKeys, page *redis.ScanCmd) (map[string]Plan, error) {
		return p.in(ctx, t, k.Plans(t.Notes), page)
	})
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	var all []Plan
	for n, slot := range read {
		for _, p := range plans[n] {
			p.Slot = slot
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Plan) int { return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Slot, b.Slot)) })
	return all, failed.Err()
}

// in reads the plans of one slot, page by page. A page may repeat what another one had.
func (p Plans) in(ctx context.Context, t ask.Topic, k protocol.PlanKeys, page *redis.ScanCmd) (map[string]Plan, error) {
	all := map[string]Plan{}
	for {
		rules, cursor, err := page.Result()
		if err != nil {
			return nil, ask.At(k.Rule, err)
		}
		question := []any{"zmscore", k.Plan}
		for n := 0; n+1 < len(rules); n += 2 {
			all[rules[n]] = readPlan(t, rules[n], rules[n+1])
			question = append(question, rules[n])
		}
		if len(question) > 2 {
			times := redis.NewSliceCmd(ctx, question...)
			script.ExecOnce(ctx, p.Ground.Redis, times)
			if times.Err() != nil {
				return nil, ask.At(k.Plan, times.Err())
			}
			for n, score := range times.Val() {
				p := all[rules[2*n]]
				p.Next, p.Ended = declaration.Time(score), score == nil
				all[p.Name] = p
			}
		}
		if cursor == 0 {
			return all, nil
		}
		page = rulesFrom(ctx, k.Rule, cursor)
		script.ExecOnce(ctx, p.Ground.Redis, page)
	}
}

// rulesFrom asks for a page of rules.
func rulesFrom(ctx context.Context, key string, cursor uint64) *redis.ScanCmd {
	return redis.NewScanCmd(ctx, nil, "hscan", key, cursor, "count", ask.PerPipeline)
}

// readPlan reads a rule as it is stored.
func readPlan(t ask.Topic, name, stored string) Plan {
	p := Plan{Recurring: message.Recurring{Name: name}}
	since, text, known := plan.Split(stored)
	if !known {
		p.Err = errors.New("it is not known from when it counts")
		return p
	}
	p.Set = since.Base
	rule, err := ask.ReadRule(t, name, text)
	if err != nil {
		p.Err = err
		return p
	}
	p.Recurring = rule.Message()
	return p
}

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
