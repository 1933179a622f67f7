package luascripts_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/luascripts"
)

// plan.lua told a second time, in Go.

// setPlan expects what becomes of a rule that is set.
func (s *slot) setPlan(name, rule, since string, next int64, before luascripts.PlanStand, now int64) luascripts.PlanAnswer {
	held, known := s.rules[name]
	_, same, _ := strings.Cut(held, " ")
	owed := s.plans[name]
	switch {
	case known && same == rule:
		return luascripts.PlanKept
	case before != s.stands(name):
		return luascripts.PlanStale
	case next == 0:
		return luascripts.PlanNever
	case owed > 0 && owed <= now:
		next = owed
	}
	s.rules[name], s.plans[name] = since+" "+rule, next
	if known {
		return luascripts.PlanChanged
	}
	return luascripts.PlanAdded
}

// stands is what a caller reads before it sets a rule.
func (s *slot) stands(name string) (p luascripts.PlanStand) {
	p.Stored = s.rules[name]
	if at, stands := s.plans[name]; stands {
		p.At = fmt.Sprint(at)
	}
	return p
}

// stopPlan expects the end of a rule, if it is this one.
func (s *slot) stopPlan(name, rule string) bool {
	held, known := s.rules[name]
	if !known || rule != "" && rule != held {
		return false
	}
	delete(s.rules, name)
	delete(s.plans, name)
	return true
}

// duePlans expects which occurrences are due, and when the next one is.
func (s *slot) duePlans(most int, now int64) (due []scored, next time.Time) {
	all := ordered(s.plans)
	n := slices.IndexFunc(all, func(p scored) bool { return p.score > now })
	if n < 0 {
		n = len(all)
	}
	if n = min(n, most); n < len(all) {
		next = time.UnixMilli(max(now, all[n].score))
	}
	return all[:n], next
}

// firePlan expects what becomes of an occurrence.
func (s *slot) firePlan(o luascripts.Occurrence, next int64, x string, score int64) luascripts.PlanAnswer {
	if at, stands := s.plans[o.Name]; !stands || at != o.At.UnixMilli() || s.rules[o.Name] != o.Rule {
		return luascripts.PlanStale
	}
	if s.plans[o.Name] = next; next == 0 {
		delete(s.plans, o.Name)
	}
	switch {
	case x == "":
		return luascripts.PlanSkipped
	case s.store[x] > retries:
		s.endless(x)
		return luascripts.PlanWaits
	}
	s.store[x] = score
	delete(s.notes, x)
	return luascripts.PlanFired
}
