package protocol_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// plan.lua told a second time, in Go.

// setPlan expects what becomes of a rule that is set.
func (s *slot) setPlan(name, rule, since string, next int64, before protocol.PlanStand, now int64) protocol.PlanAnswer {
	held, known := s.rules[name]
	_, same, _ := strings.Cut(held, " ")
	owed := s.plans[name]
	switch {
	case known && same == rule:
		return protocol.PlanKept
	case before != s.stands(name):
		return protocol.PlanStale
	case next == 0:
		return protocol.PlanNever
	case owed > 0 && owed <= now:
		next = owed
	}
	s.rules[name], s.plans[name] = since+" "+rule, next
	if known {
		return protocol.PlanChanged
	}
	return protocol.PlanAdded
}

// stands is what a caller reads before it sets a rule.
func (s *slot) stands(name string) (p protocol.PlanStand) {
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
func (s *slot) firePlan(o protocol.Occurrence, next int64, x string, score int64) protocol.PlanAnswer {
	if at, stands := s.plans[o.Name]; !stands || at != o.At.UnixMilli() || s.rules[o.Name] != o.Rule {
		return protocol.PlanStale
	}
	if s.plans[o.Name] = next; next == 0 {
		delete(s.plans, o.Name)
	}
	switch {
	case x == "":
		return protocol.PlanSkipped
	case s.store[x] > retries:
		s.endless(x)
		return protocol.PlanWaits
	}
	s.store[x] = score
	delete(s.notes, x)
	return protocol.PlanFired
}
