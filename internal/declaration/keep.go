package declaration

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/plan"
	"github.com/slotmq/go-rmq/internal/script"
	"github.com/slotmq/go-rmq/luascripts"
)

// LookEach is how often a program looks whether Redis still has the plans that it has declared.
const LookEach = 30 * time.Second

// Declared is a plan that this program has declared, and where it stood when it was last seen.
type Declared struct {
	rule  *plan.Rule
	slot  int
	since plan.Since
	next  time.Time // zero: it was at its end
	ended bool      // somebody has ended it
}

// Name is that of the plan.
func (d *Declared) Name() string { return d.rule.Message().Name }

// Ended reports whether somebody has ended the plan: then it is not kept any more.
func (d *Declared) Ended() bool { return d.ended }

// Keep looks at the plans that a program has declared, and sets those again that Redis has lost: with
// the time from which they counted, and where they stood when they were last seen. It returns those. What
// has come meanwhile was missed; what was sent since the last look may be sent once more.
//
// A plan that another program has replaced, or that somebody has ended, is not set again. A Redis that has
// come back with an older state may have an older rule: the newer one takes its place.
func (p *Plans) Keep(ctx context.Context, all []*Declared) (again []*Declared, err error) {
	for len(all) > 0 && err == nil {
		some := all[:min(atOnce/2, len(all))]
		all = all[len(some):]
		var lost []*Declared
		lost, err = p.lost(ctx, some)
		for _, d := range lost {
			done, wrong := p.setting(d.rule).restore(ctx, d)
			if done {
				again = append(again, d)
			}
			err = errors.Join(err, wrong)
		}
	}
	return again, p.explain(err)
}

// lost are those of some plans that are not where they were declared, or that no worker would look for.
func (p *Plans) lost(ctx context.Context, some []*Declared) (lost []*Declared, err error) {
	var cmds []redis.Cmder
	for _, d := range some {
		k, name := p.keys(d.slot), d.Name()
		cmds = append(cmds, redis.NewStringCmd(ctx, "hget", k.Rule, name), redis.NewSliceCmd(ctx, "zmscore", k.Plan, name),
			redis.NewBoolCmd(ctx, "sismember", luascripts.PlansKey(p.Topic.Name), d.slot))
	}
	script.Exec(ctx, p.Redis, cmds...)
	for n, d := range some {
		rule, times, noted := cmds[3*n].(*redis.StringCmd), cmds[3*n+1].(*redis.SliceCmd), cmds[3*n+2].(*redis.BoolCmd)
		if wrong := cmp.Or(rule.Err(), times.Err(), noted.Err()); wrong != nil && wrong != redis.Nil {
			err = errors.Join(err, read(p.keys(d.slot).Rule, wrong))
			continue
		}
		since, text, _ := plan.Split(rule.Val())
		same := text == d.rule.Text()
		if same {
			d.since, d.next = since, Time(times.Val()[0])
		}
		if !noted.Val() || !same && since.Compare(d.since) < 0 {
			lost = append(lost, d)
		}
	}
	return lost, err
}

// restore sets a plan again, and reports whether it was lost.
func (s *setting) restore(ctx context.Context, d *Declared) (bool, error) {
	if s.since = d.since; !d.next.IsZero() {
		s.first = d.next.UnixMilli()
	}
	for range again {
		if err := s.read(ctx); err != nil {
			return false, err
		}
		if s.first == 0 && s.before.Stored == "" || slices.ContainsFunc(s.there, func(x held) bool { return x.Since.Compare(d.since) > 0 }) {
			return false, nil // it was at its end; or another program has replaced it
		}
		// Behind the read: whoever ends a plan notes that first.
		var err error
		if d.ended, err = (endings{s.Plans}).has(ctx, s.name); d.ended || err != nil {
			return false, err
		}
		answer, err := s.try(ctx)
		if err == nil && answer == luascripts.PlanStale {
			continue
		}
		if err == nil {
			_, err = s.dropOthers(ctx)
		}
		if err != nil {
			return false, err
		}
		if d.ended, err = (endings{s.Plans}).has(ctx, s.name); d.ended { // meanwhile
			_, err = s.Scripts.StopPlan(ctx, s.keys(s.slot), s.name, d.since.String()+" "+d.rule.Text())
			return false, err
		}
		s.tell(ctx, s.slot)
		return true, err
	}
	return false, errTooOften
}
