package protocol

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var planScript = script.New(luascripts.Source("plan.lua"))

// PlanKeys are the keys of the plans of one slot. Note is empty where the topic has no notes.
type PlanKeys struct {
	Store, Plan, Rule, Note string
}

// Plans are the keys of the plans of the slot.
func (k SlotKeys) Plans(notes bool) PlanKeys {
	p := PlanKeys{Store: k.Store, Plan: beside("plan", k.Store), Rule: beside("rule", k.Store)}
	if notes {
		p.Note = k.Note()
	}
	return p
}

// PlanAnswer is what plan.lua did.
type PlanAnswer string

// The answers to [Scripts.SetPlan] and [Scripts.FirePlanCmd].
const (
	PlanAdded   PlanAnswer = "ADDED"
	PlanChanged PlanAnswer = "CHANGED" // there was another rule of this name
	PlanKept    PlanAnswer = "KEPT"    // it was set before; its plan stays as it is, also at its end
	PlanNever   PlanAnswer = "NEVER"   // it has no occurrence, and was not set before
	PlanFired   PlanAnswer = "FIRED"
	PlanWaits   PlanAnswer = "WAITS" // a message of the same content waits; the plan has moved on
	PlanSkipped PlanAnswer = "SKIPPED"
	PlanStale   PlanAnswer = "STALE" // this occurrence was sent before, or the rule is another now, or stands elsewhere
)

// PlanStand is a rule as it was read, and where its plan stands. It is zero where there is none.
type PlanStand struct {
	Stored string // the rule
	At     string // the score of its plan; empty at its end
}

// SetPlan sets a rule. json says when it occurs, and since from when it counts. next is its first
// occurrence in ms, or 0 if there is none; what the rule before owes comes first. It is PlanStale
// unless the rule before and its plan are still as they were read.
func (s *Scripts) SetPlan(ctx context.Context, k PlanKeys, name, json, since string, next int64, before PlanStand) (PlanAnswer, error) {
	cmd := redis.NewStringSliceCmd(ctx, k.call("SET", name, json, since, someTime(next), before.Stored, before.At)...)
	s.Exec(ctx, cmd)
	reply, err := cmd.Result()
	if err != nil {
		return "", fmt.Errorf("set plan %s in %s: %w", name, k.Plan, err)
	}
	return PlanAnswer(reply[0]), nil
}

// StopPlan ends a rule, and reports whether there was one. If rule is not empty, only that rule is
// ended, as it is stored.
func (s *Scripts) StopPlan(ctx context.Context, k PlanKeys, name, rule string) (bool, error) {
	cmd := redis.NewIntCmd(ctx, k.call("STOP", name, rule)...)
	s.Exec(ctx, cmd)
	if err := cmd.Err(); err != nil {
		return false, fmt.Errorf("stop plan %s in %s: %w", name, k.Plan, err)
	}
	return cmd.Val() == 1, nil
}

// Due are the occurrences of a slot that are due.
type Due struct {
	Now  time.Time // by the server's clock
	Next time.Time // when the first is due that is not in the list; zero if there is none
	List []Occurrence
}

// Occurrence is one occurrence of a plan.
type Occurrence struct {
	Name string
	At   time.Time
	Rule string // as it is stored; empty if there is none, which RMQ never writes

	score string // At, as it is stored
}

// DuePlansCmd asks for the occurrences of a slot that are due: at most so many, the oldest
// first.
func (s *Scripts) DuePlansCmd(ctx context.Context, k PlanKeys, most int) redis.Cmder {
	return redis.NewStringSliceCmd(ctx, k.call("DUE", most)...)
}

// DuePlansAnswer reads the answer to a command of [Scripts.DuePlansCmd] that was sent.
func DuePlansAnswer(k PlanKeys, cmd redis.Cmder) (Due, error) {
	reply, err := cmd.(*redis.StringSliceCmd).Result()
	if err != nil {
		return Due{}, fmt.Errorf("read the plans in %s: %w", k.Plan, err)
	}
	d := Due{Now: msTime(reply[0])}
	if wait, err := strconv.ParseInt(reply[1], 10, 64); err == nil {
		d.Next = d.Now.Add(time.Duration(wait) * time.Millisecond)
	}
	for e := reply[2:]; len(e) >= 3; e = e[3:] {
		d.List = append(d.List, Occurrence{Name: e[0], At: msTime(e[1]), Rule: e[2], score: e[1]})
	}
	return d, nil
}

// FirePlanCmd sends an occurrence with that content and score, and moves its plan on to the
// next one, in ms, or to its end with 0. Without a content the occurrence is left out.
// After an error it may have been sent. To try again does no harm: it is PlanStale then.
func (s *Scripts) FirePlanCmd(ctx context.Context, k PlanKeys, o Occurrence, next int64, content string, score int64) redis.Cmder {
	return redis.NewStringSliceCmd(ctx, k.call("FIRE", o.Name, o.Rule, o.score, someTime(next), content, score)...)
}

// FirePlanAnswer reads the answer to a command of [Scripts.FirePlanCmd] that was sent.
func FirePlanAnswer(k PlanKeys, o Occurrence, cmd redis.Cmder) (PlanAnswer, error) {
	reply, err := cmd.(*redis.StringSliceCmd).Result()
	if err != nil {
		return "", fmt.Errorf("send an occurrence of plan %s in %s: %w", o.Name, k.Plan, err)
	}
	return PlanAnswer(reply[0]), nil
}

// call begins with the keys, of which a topic without notes has three.
func (k PlanKeys) call(args ...any) []any {
	keys := []any{k.Store, k.Plan, k.Rule, k.Note}
	if k.Note == "" {
		keys = keys[:3]
	}
	return append(append(planScript.Call(len(keys), len(keys)+len(args)), keys...), args...)
}

// someTime is a ms as an argument of plan.lua.
func someTime(ms int64) string {
	if ms == 0 {
		return ""
	}
	return strconv.FormatInt(ms, 10)
}

// msTime reads a ms. Another program may have written any number.
func msTime(text string) time.Time {
	ms, _ := strconv.ParseFloat(text, 64)
	return time.UnixMilli(int64(min(max(ms, 0), limits.MaxTime-1)))
}
