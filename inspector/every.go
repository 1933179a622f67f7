package inspector

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/hash"
	"github.com/slotmq/go-rmq/internal/limits"
	"github.com/slotmq/go-rmq/internal/plan"
	"github.com/slotmq/go-rmq/internal/script"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// PlanChange is what became of a plan that was set.
type PlanChange uint8

const (
	// PlanAdded: there was none of that name.
	PlanAdded PlanChange = iota

	// PlanReplaced: another rule had that name, and this one begins now.
	PlanReplaced

	// PlanKept: the same rule was set before, and goes on, or is at its end.
	PlanKept

	// PlanMended: there was a rule of that name, and a clock far ahead of the present one has set
	// it, or has moved its plan on: it would have sent nothing until then. This one begins now.
	PlanMended
)

// String returns the word for it: "added", "replaced", "kept", "mended".
func (c PlanChange) String() string {
	if words := [...]string{"added", "replaced", "kept", "mended"}; int(c) < len(words) {
		return words[c]
	}
	return "PlanChange(" + strconv.Itoa(int(c)) + ")"
}

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
	change, err := i.setPlan(ctx, t, r)
	if err != nil {
		return 0, fmt.Errorf("set plan %.60q of topic %s: %w", r.Name, topic, err)
	}
	return change, nil
}

func (i *Inspector) setPlan(ctx context.Context, t Topic, r message.Recurring) (PlanChange, error) {
	rule, err := plan.New(t.Topic, r, limits.ContentBytes)
	if err != nil {
		return 0, err
	}
	slot := hash.Slot(cmp.Or(r.SlotBasis, r.Content), t.Slots)
	keys := i.keys(t.Name, slot)
	base, err := i.clockOf(ctx, keys)
	if err != nil {
		return 0, err
	}
	there, err := i.rulesOf(ctx, t, r.Name)
	if err != nil {
		return 0, err
	}
	there, mended, err := i.dropStrays(ctx, t, r.Name, there, base)
	if err != nil {
		return 0, err
	}
	for _, x := range there { // of this ms, or by the clock of another server of a Cluster
		if !x.base.Before(base) {
			base = x.base.Add(time.Millisecond)
		}
	}
	first, over := rule.First(base)
	next := int64(0)
	if over == nil {
		next = first.UnixMilli()
		// Before the rule is set, or its worker might never look there.
		if err := i.rdb.SAdd(ctx, luascripts.PlansKey(i.qualified(t.Name)), slot).Err(); err != nil {
			return 0, i.explain(err)
		}
	}
	answer, _, err := i.scripts.SetPlan(ctx, keys.Plans(t.Notes), r.Name, rule.Text(), base.UnixMilli(), next)
	if err != nil {
		return 0, i.explain(err)
	}
	if answer == luascripts.PlanNever {
		return 0, over
	}
	replaced, err := i.dropOthers(ctx, t, r.Name)
	switch {
	case err != nil:
		return 0, err
	case answer == luascripts.PlanKept && !replaced:
		return PlanKept, nil
	}
	i.publish(ctx, t, slot, luascripts.AppendPlan(nil, slot))
	switch {
	case mended:
		return PlanMended, nil
	case replaced || answer == luascripts.PlanChanged:
		return PlanReplaced, nil
	}
	return PlanAdded, nil
}

// clockOf is what the clock of a slot's server shows.
func (i *Inspector) clockOf(ctx context.Context, keys luascripts.SlotKeys) (time.Time, error) {
	server, _, err := cluster.MasterFor(ctx, i.rdb, keys.Store)
	if err != nil {
		return time.Time{}, err
	}
	now, err := server.Time(ctx).Result()
	return now.Truncate(time.Millisecond), i.explain(err)
}

// ruleIn is a rule of one name, in a slot.
type ruleIn struct {
	slot   int
	stored string
	base   time.Time
}

// dropOthers leaves one rule of a name, the one that was set last. A rule with another content may
// be in another slot. Of two programs that set two rules at the same time, each sees both after it
// has set its own, and both drop the same one.
func (i *Inspector) dropOthers(ctx context.Context, t Topic, name string) (dropped bool, err error) {
	there, err := i.rulesOf(ctx, t, name)
	if err != nil {
		return false, err
	}
	slices.SortFunc(there, func(a, b ruleIn) int { return cmp.Or(b.base.Compare(a.base), cmp.Compare(b.slot, a.slot)) })
	for _, x := range there[min(1, len(there)):] {
		gone, err := i.scripts.StopPlan(ctx, i.keys(t.Name, x.slot).Plans(t.Notes), name, x.stored)
		if err != nil {
			return dropped, i.explain(err)
		}
		dropped = dropped || gone
	}
	return dropped, nil
}

// dropStrays ends those rules of a name that a wrong clock has set or moved on, and returns the
// others. Who dies right after that leaves no rule, until the next one sets it.
func (i *Inspector) dropStrays(ctx context.Context, t Topic, name string, there []ruleIn, now time.Time) (rest []ruleIn, dropped bool, err error) {
	for _, x := range there {
		k := i.keys(t.Name, x.slot).Plans(t.Notes)
		times := redis.NewSliceCmd(ctx, "zmscore", k.Plan, name)
		script.ExecOnce(ctx, i.rdb, times)
		if times.Err() != nil {
			return nil, dropped, at(k.Plan, i.explain(times.Err()))
		}
		if !x.strays(name, timeOf(times.Val()[0]), now) {
			rest = append(rest, x)
			continue
		}
		gone, err := i.scripts.StopPlan(ctx, k, name, x.stored) // unless somebody else was first
		if err != nil {
			return nil, dropped, i.explain(err)
		}
		dropped = dropped || gone
	}
	return rest, dropped, nil
}

// strays looks at the base alone where the rule cannot be read here.
func (x ruleIn) strays(name string, next, now time.Time) bool {
	_, text, _ := luascripts.PlanRule(x.stored)
	if rule, err := plan.Read(name, text); err == nil {
		return rule.Strays(x.base, next, now)
	}
	return x.base.After(now.Add(plan.Ahead))
}

// rulesOf are all rules of one name.
func (i *Inspector) rulesOf(ctx context.Context, t Topic, name string) (there []ruleIn, err error) {
	which, err := i.planned(ctx, t)
	if err != nil {
		return nil, err
	}
	stored, which, err := ofSlots(ctx, i, t, which, func(k luascripts.SlotKeys) *redis.StringCmd {
		return redis.NewStringCmd(ctx, "hget", k.Plans(t.Notes).Rule, name)
	}, func(k luascripts.SlotKeys, cmd *redis.StringCmd) (string, error) {
		if cmd.Err() == redis.Nil {
			return "", nil
		}
		return cmd.Val(), at(k.Plans(t.Notes).Rule, cmd.Err())
	})
	if err != nil {
		return nil, err
	}
	for n, slot := range which {
		if stored[n] != "" {
			base, _, _ := luascripts.PlanRule(stored[n])
			there = append(there, ruleIn{slot, stored[n], base})
		}
	}
	return there, nil
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
	there, err := i.rulesOf(ctx, t, name)
	for _, x := range there {
		if err != nil {
			break
		}
		var gone bool
		gone, err = i.scripts.StopPlan(ctx, i.keys(t.Name, x.slot).Plans(t.Notes), name, "")
		stopped, err = stopped || gone, i.explain(err)
	}
	if err != nil {
		return stopped, fmt.Errorf("stop plan %q of topic %s: %w", name, topic, err)
	}
	return stopped, nil
}
