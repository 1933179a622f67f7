package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/hash"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
	"github.com/slotmq/go-rmq/message"
)

// plans looks at the plans of a slot: rule PLAN. It notes whether there are any.
func (v *verification) plans(ctx context.Context, t ask.Topic, slot int) error {
	name := v.i.Qualified(t.Name)
	p := planCheck{v: v, t: t, slot: slot, plan: protocol.PlanKey(name, slot), rule: protocol.RuleKey(name, slot)}
	times, err := p.times(ctx)
	if err := p.read(p.plan, "zset", err); err != nil {
		return err
	}
	ruled := map[string]bool{}
	rules := v.i.Redis.HScan(ctx, p.rule, 0, "", auditPage).Iterator()
	for rules.Next(ctx) {
		name := rules.Val()
		if !rules.Next(ctx) {
			break
		}
		p.judge(name, rules.Val())
		ruled[name] = true
	}
	if err := p.read(p.rule, "hash", rules.Err()); err != nil {
		return err
	}
	for _, z := range times {
		name, _ := z.Member.(string)
		if at := int64(z.Score); float64(at) != z.Score || at < limits.MinTime || at >= limits.MaxTime {
			p.add(p.plan, name, "its time is %v", z.Score)
		}
		if !ruled[name] && rules.Err() == nil {
			if err := p.orphan(ctx, name); err != nil {
				return err
			}
		}
	}
	if len(times)+len(ruled) > 0 {
		v.withPlans = append(v.withPlans, slot)
	}
	return nil
}

// noted looks whether the topic's set of slots that may have plans is right: a worker does not look
// at a slot that is not in it. A slot is put in before its first rule is set.
func (v *verification) noted(ctx context.Context, t ask.Topic) error {
	key := protocol.PlansKey(v.i.Qualified(t.Name))
	noted := map[int]bool{}
	all := v.i.Redis.SScan(ctx, key, 0, "", auditPage).Iterator()
	for all.Next(ctx) {
		slot, err := strconv.Atoi(all.Val())
		if err != nil || slot < 0 || slot >= t.Slots {
			v.add(Violation{Topic: t.Name, Slot: -1, Rule: "PLAN", Key: key, Detail: fmt.Sprintf("it names slot %.40q", all.Val())})
		}
		noted[slot] = true
	}
	switch err := all.Err(); {
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		v.add(Violation{Topic: t.Name, Slot: -1, Rule: "TYPES", Key: key, Detail: "is not a set"})
		return nil
	case err != nil:
		return ask.At(key, v.i.Explain(err))
	}
	for _, slot := range v.withPlans {
		if !noted[slot] {
			v.add(Violation{Topic: t.Name, Slot: slot, Rule: "PLAN", Key: key, Detail: "the slot has plans and is not in it"})
		}
	}
	return nil
}

// planCheck looks at the plans of one slot.
type planCheck struct {
	v          *verification
	t          ask.Topic
	slot       int
	plan, rule string // keys
}

func (p *planCheck) add(key, name, format string, args ...any) {
	p.v.add(Violation{Topic: p.t.Name, Slot: p.slot, Rule: "PLAN", Key: key, Content: name, Detail: fmt.Sprintf(format, args...)})
}

// times are the next occurrences of all plans. If some plans go meanwhile, others may be left out: the
// next Verify sees them.
func (p *planCheck) times(ctx context.Context) (all []redis.Z, err error) {
	for page := []redis.Z(nil); err == nil && len(all)%auditPage == 0; all = append(all, page...) {
		from := int64(len(all))
		if page, err = p.v.i.Redis.ZRangeWithScores(ctx, p.plan, from, from+auditPage-1).Result(); len(page) == 0 {
			break
		}
	}
	return all, err
}

// read takes a wrong type for a finding.
func (p *planCheck) read(key, want string, err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		p.v.add(Violation{Topic: p.t.Name, Slot: p.slot, Rule: "TYPES", Key: key, Detail: "is not a " + want})
		return nil
	}
	if err != nil {
		return ask.At(key, p.v.i.Explain(err))
	}
	return nil
}

// judge looks at one rule. A zone that this machine does not know is no fault of what is stored.
func (p *planCheck) judge(name, text string) {
	since, json, known := plan.Split(text)
	if ms := since.Base.UnixMilli(); !known || ms < limits.MinTime || ms >= limits.MaxTime {
		at, _, _ := strings.Cut(text, " ")
		p.add(p.rule, name, "its base is %.40q", at)
	}
	r, err := ask.ReadRule(p.t, name, json)
	var invalid *message.InvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Field == "Zone":
		return
	case err != nil:
		p.add(p.rule, name, "%s", ask.OneLine(err))
		return
	}
	if is := hash.Slot(cmp.Or(r.Message().SlotBasis, r.Message().Content), p.t.Slots); is != p.slot {
		p.add(p.rule, name, "its content belongs to slot %d", is)
	}
}

// orphan reports a plan without a rule. Both are set and stopped in one step, but were not read
// in one: so many looks find it set and the rule missing, and on a slow machine they take longer.
func (p *planCheck) orphan(ctx context.Context, name string) error {
	for range 20 {
		err := p.v.i.Redis.HGet(ctx, p.rule, name).Err()
		if errors.Is(err, redis.Nil) {
			err = p.v.i.Redis.ZScore(ctx, p.plan, name).Err()
			if err == nil && wait.Sleep(ctx, 50*time.Millisecond) {
				continue
			}
		}
		if errors.Is(err, redis.Nil) || err == nil && ctx.Err() == nil { // stopped meanwhile, or set
			return nil
		}
		return ask.At(p.rule, cmp.Or(err, ctx.Err()))
	}
	p.add(p.plan, name, "it has no rule in %s", p.rule)
	return nil
}
