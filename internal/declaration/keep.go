package declaration

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
)

// LookEach is how often a program looks whether Redis still has the plans that it has declared.
const LookEach = 30 * time.Second

// Declared is a plan that this program has declared, and where it stood when it was last seen.
type Declared struct {
	rule  *plan.Rule
	slot  int
	since plan.Since
	next  time.Time // zero: it is at its end
	gone  bool
}

// Name is that of the plan.
func (d *Declared) Name() string { return d.rule.Message().Name }

// Gone reports whether the plan is not kept any more: somebody has ended or replaced it, or it is at its end.
func (d *Declared) Gone() bool { return d.gone }

// Keep looks at the plans that a program has declared. It sets again, and returns, those that Redis has
// lost: they keep the time from which they counted, and go on from where they were last seen. Times that
// passed while a plan was lost are missed; what was sent since the last look may be sent once more.
//
// A plan that another program has replaced, or that somebody has ended, is gone. A Redis that has
// come back with an older state may have an older rule: the newer one takes its place.
func (p *Plans) Keep(ctx context.Context, all []*Declared) (again []*Declared, err error) {
	all = slices.SortedFunc(slices.Values(all), func(a, b *Declared) int { return a.slot - b.slot })
	for some := range slices.Chunk(all, atOnce) {
		lost, wrong := p.lost(ctx, some)
		err = errors.Join(err, wrong)
		for _, d := range lost {
			done, wrong := p.setting(d.rule).restore(ctx, d)
			if done {
				again = append(again, d)
			}
			err = errors.Join(err, wrong)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return again, p.explain(err)
}

// look is what is asked about the plans of one slot.
type look struct {
	plans []*Declared
	rules *redis.SliceCmd
	times *redis.SliceCmd
	noted *redis.BoolCmd
}

// lost are the plans that are not where they were declared, or that no worker would look for, in the order
// of their slots.
func (p *Plans) lost(ctx context.Context, some []*Declared) (lost []*Declared, err error) {
	var looks []*look
	var cmds []redis.Cmder
	for len(some) > 0 {
		n := slices.IndexFunc(some, func(d *Declared) bool { return d.slot != some[0].slot })
		if n < 0 {
			n = len(some)
		}
		k := p.keys(some[0].slot)
		rules, times := []any{"hmget", k.Rule}, []any{"zmscore", k.Plan}
		for _, d := range some[:n] {
			rules, times = append(rules, d.Name()), append(times, d.Name())
		}
		x := &look{some[:n], redis.NewSliceCmd(ctx, rules...), redis.NewSliceCmd(ctx, times...), redis.NewBoolCmd(ctx, "sismember", protocol.PlansKey(p.Topic.Name), some[0].slot)}
		looks, cmds, some = append(looks, x), append(cmds, x.rules, x.times, x.noted), some[n:]
	}
	script.Exec(ctx, p.Redis, cmds...)
	for _, x := range looks {
		if wrong := cmp.Or(x.rules.Err(), x.times.Err(), x.noted.Err()); wrong != nil {
			err = errors.Join(err, read(p.keys(x.plans[0].slot).Rule, wrong))
			continue
		}
		for n, d := range x.plans {
			stored, _ := x.rules.Val()[n].(string)
			if d.sees(stored, x.times.Val()[n]); !d.gone && (!x.noted.Val() || stored != d.stored()) {
				lost = append(lost, d)
			}
		}
	}
	return lost, err
}

// sees notes where the plan stands, if it is there.
func (d *Declared) sees(stored string, at any) {
	if since, text, _ := plan.Split(stored); text == d.rule.Text() {
		d.since, d.next = since, Time(at)
		d.gone = d.next.IsZero()
	}
}

// stored is the rule as it is stored.
func (d *Declared) stored() string { return d.since.String() + " " + d.rule.Text() }

// restore sets a plan again, and reports whether it was lost.
func (s *setting) restore(ctx context.Context, d *Declared) (bool, error) {
	s.since, s.first = d.since, d.next.UnixMilli()
	now, err := s.clock(ctx, s.keys(s.slot).Store)
	if err != nil || d.rule.Strays(d.since.Base, d.next, now) { // who sets it anew mends that
		return false, err
	}
	for range again {
		if err := s.read(ctx); err != nil {
			return false, err
		}
		if d.gone = slices.ContainsFunc(s.there, func(x held) bool { return s.after(x, d) }); d.gone {
			return false, nil
		}
		// After the read, since a plan is noted as ended before it ends.
		if d.gone, err = (endings{s.Plans}).has(ctx, s.name); d.gone || err != nil {
			return false, err
		}
		answer, err := s.again(ctx)
		if err == nil && answer == protocol.PlanStale {
			continue
		}
		if err == nil {
			_, err = s.dropOthers(ctx)
		}
		if err != nil {
			return false, err
		}
		if d.gone, err = (endings{s.Plans}).has(ctx, s.name); d.gone { // meanwhile
			_, err = s.Scripts.StopPlan(ctx, s.keys(s.slot), s.name, d.stored())
			return false, err
		}
		s.announce(ctx, s.slot)
		return true, err
	}
	return false, errTooOften
}

// after reports whether a rule was set after that of a plan. Where two have one name, the later one
// stays.
func (s *setting) after(x held, d *Declared) bool {
	return cmp.Or(x.Since.Compare(d.since), cmp.Compare(x.slot, s.slot)) > 0
}

// again sets the rule. If Redis has lost the topic, too, it defines that first.
func (s *setting) again(ctx context.Context) (protocol.PlanAnswer, error) {
	if s.Define != nil {
		if err := s.Define(ctx); err != nil {
			return "", err
		}
	}
	if err := s.note(ctx); err != nil {
		return "", err
	}
	return s.try(ctx)
}
