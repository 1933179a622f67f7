package declaration

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/hash"
	"github.com/slotmq/go-rmq/internal/protocol/score"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
)

const (
	// again is how often Set tries, while other programs change the plan at the same time.
	again = 10

	// unsent is how often rules may replace each other, with nothing sent in between, before Set
	// reports it.
	unsent = 3
)

// Set sets a plan. The same rule again changes nothing. Another rule takes the place of the one that
// has this name; where two programs set two of them, the last one holds.
func (p *Plans) Set(ctx context.Context, rule *plan.Rule) (*Declared, Change, error) {
	s := p.setting(rule)
	change, err := s.set(ctx)
	return s.declared(), change, p.explain(err)
}

// errTooOften: other programs have changed the plan during each try.
var errTooOften = fmt.Errorf("another program, or a worker, has changed it %d times meanwhile", again)

// setting is a rule that is being set.
type setting struct {
	*Plans
	rule *plan.Rule
	name string
	slot int

	there  []held // the rules of this name
	mended bool   // one of them had to go

	since  plan.Since // from when the rule counts
	first  int64      // ms of its first time; 0: it is over
	over   error      // why it has none
	before protocol.PlanStand
	unsent bool // rules take each other's place, and nothing is sent between
}

func (p *Plans) setting(rule *plan.Rule) *setting {
	r := rule.Message()
	return &setting{Plans: p, rule: rule, name: r.Name, slot: hash.Slot(cmp.Or(r.SlotBasis, r.Content), p.Topic.Slots)}
}

func (s *setting) set(ctx context.Context) (Change, error) {
	if err := cmp.Or((endings{s.Plans}).drop(ctx, s.name), s.note(ctx)); err != nil {
		return 0, err
	}
	for range again {
		if err := s.look(ctx); err != nil {
			return 0, err
		}
		answer, err := s.try(ctx)
		switch {
		case err != nil:
			return 0, err
		case answer != protocol.PlanStale:
			return s.finish(ctx, answer)
		}
	}
	return 0, errTooOften
}

// look reads what is there, and decides how the rule goes on from it.
func (s *setting) look(ctx context.Context) error {
	now, err := s.clock(ctx, s.keys(s.slot).Store)
	if err != nil {
		return err
	}
	if err := s.read(ctx); err != nil {
		return err
	}
	if err := s.dropStrays(ctx, now); err != nil {
		return err
	}
	s.follow(now)
	return nil
}

// read reads the rules of the name, and where their plans stand.
func (s *setting) read(ctx context.Context) (err error) {
	if s.there, err = s.named(ctx, s.name); err != nil {
		return err
	}
	for n := range s.there {
		if err := s.stands(ctx, s.name, &s.there[n]); err != nil {
			return err
		}
	}
	own := held{slot: s.slot}
	if n := slices.IndexFunc(s.there, func(x held) bool { return x.slot == s.slot }); n >= 0 {
		own = s.there[n]
	} else if err := s.stands(ctx, s.name, &own); err != nil { // somebody may have deleted the rule alone
		return err
	}
	s.before = own.PlanStand
	return nil
}

// dropStrays ends those rules of the name that a wrong clock has set or moved on. Who dies right after
// that leaves no rule, until the next one sets it.
func (s *setting) dropStrays(ctx context.Context, now time.Time) error {
	var rest []held
	for _, x := range s.there {
		if !x.strays(now) {
			rest = append(rest, x)
			continue
		}
		gone, err := s.Scripts.StopPlan(ctx, s.keys(x.slot), s.name, x.Stored) // unless somebody else was first
		if err != nil {
			return err
		}
		if s.mended = s.mended || gone; x.slot == s.slot {
			s.before = protocol.PlanStand{}
		}
	}
	s.there = rest
	return nil
}

// strays looks only at the base if this program cannot read the rule.
func (x *held) strays(now time.Time) bool {
	if x.Rule != nil {
		return x.Rule.Strays(x.Base, x.Next, now)
	}
	return x.Base.After(now.Add(plan.Ahead))
}

// follow makes the rule take over from the latest of those that are there. It also takes over what a
// rule in another slot still owes, since that rule ends.
func (s *setting) follow(now time.Time) {
	var old plan.Held
	for _, x := range s.there {
		if x.Since.Compare(old.Since) > 0 {
			old = x.Held
		}
	}
	var first time.Time
	s.since, first, s.over = s.rule.Follow(old, now)
	s.unsent = s.since.Changes >= unsent && !old.Sent()
	if s.first = 0; s.over != nil {
		return
	}
	s.first = first.UnixMilli()
	for _, x := range s.there {
		if !x.Next.IsZero() && !x.Next.After(now) {
			s.first = min(s.first, x.Next.UnixMilli())
		}
	}
}

// note notes that the slot may have plans. It does so before the rule is set: else the worker might
// never look there.
func (s *setting) note(ctx context.Context) error {
	return s.Redis.SAdd(ctx, protocol.PlansKey(s.Topic.Name), s.slot).Err()
}

// try sets it, unless another program has changed it in the meantime.
func (s *setting) try(ctx context.Context) (protocol.PlanAnswer, error) {
	return s.Scripts.SetPlan(ctx, s.keys(s.slot), s.name, s.rule.Text(), s.since.String(), s.first, s.before)
}

// finish ends the other rules of its name, and makes the worker of the slot look.
func (s *setting) finish(ctx context.Context, answer protocol.PlanAnswer) (Change, error) {
	if answer == protocol.PlanNever {
		return 0, s.over
	}
	replaced, err := s.dropOthers(ctx)
	switch {
	case err != nil:
		return 0, err
	case answer == protocol.PlanKept && !replaced:
		return Kept, nil
	}
	s.announce(ctx, s.slot)
	switch {
	case s.mended:
		return Mended, nil
	case answer != protocol.PlanKept && s.unsent:
		return Unsent, nil
	case replaced || answer == protocol.PlanChanged:
		return Replaced, nil
	}
	return Added, nil
}

// declared is what its program knows of it.
func (s *setting) declared() *Declared {
	d := &Declared{rule: s.rule, slot: s.slot, since: s.since, next: score.Time(s.first)}
	for _, x := range s.there {
		if _, text, _ := plan.Split(x.Stored); x.slot == s.slot && text == s.rule.Text() { // it was there
			d.since, d.next = x.Since, x.Next
		}
	}
	return d
}

// dropOthers leaves one rule of the name, the one that was set last. A rule with another content may
// be in another slot. Of two programs that set two rules at the same time, each sees both after it
// has set its own, and both drop the same one.
func (s *setting) dropOthers(ctx context.Context) (dropped bool, err error) {
	there, err := s.named(ctx, s.name)
	if err != nil {
		return false, err
	}
	slices.SortFunc(there, func(a, b held) int { return cmp.Or(b.Since.Compare(a.Since), cmp.Compare(b.slot, a.slot)) })
	for _, x := range there[min(1, len(there)):] {
		gone, err := s.Scripts.StopPlan(ctx, s.keys(x.slot), s.name, x.Stored)
		if err != nil {
			return dropped, err
		}
		dropped = dropped || gone
	}
	return dropped, nil
}
