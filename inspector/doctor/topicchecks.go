package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/who"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/text/humantime"
)

// visited is a topic that the doctor looks at, with what was read of it for all checks.
type visited struct {
	ask.Topic
	seen    who.Seen
	policy  protocol.Policy
	probing map[string]time.Time
}

// topicCheck is what the doctor looks for in each topic.
type topicCheck struct {
	name, ok string

	// find returns what is wrong with a topic.
	find func(ctx context.Context, d *doctor, v *visited) ([]finding, error)

	// Or count returns how many units of the topic it is. It is told of all topics together.
	count        func(v *visited) int
	say          func(v *visited) string // what is told of a topic; nil: the number
	unit, advice string
}

var topicChecks = []topicCheck{
	{name: "workers", ok: "no topic has messages due and no worker", find: func(_ context.Context, _ *doctor, v *visited) ([]finding, error) {
		due := v.seen.Sum(who.DueIn)
		if due == 0 || v.seen.Workers > 0 || len(v.seen.Takers) > 0 {
			return nil, nil
		}
		return []finding{warn(fmt.Sprintf("topic %s has %d due and no worker", v.Name, due), "start workers that listen to it")}, nil
	}},
	{name: "slots", ok: "none stands still", find: func(_ context.Context, _ *doctor, v *visited) ([]finding, error) {
		if v.probing == nil {
			return nil, nil
		}
		return []finding{warn(fmt.Sprintf("topic %s: %s: what its handlers need is away", v.Name, onlyProbe(v.probing)),
			"look for the error in that worker's log, or by rmq peek TOPIC --state retrying, and mend what is away")}, nil
	}},
	{name: "handlers", ok: "none runs for longer than its Timeout", find: func(ctx context.Context, d *doctor, v *visited) ([]finding, error) {
		running, err := d.Running(ctx, []ask.Topic{v.Topic})
		return overrun(running[v.Name], latest(v.seen.Counts)), err
	}},
	{name: "plans", ok: "none is overdue", find: func(ctx context.Context, d *doctor, v *visited) ([]finding, error) {
		return d.overduePlans(ctx, v.Topic, v.seen)
	}},
	{name: "paused", ok: "no slot", unit: "slot", advice: "rmq resume TOPIC when it is time",
		count: func(v *visited) int { return v.seen.Sum(func(c *byhand.Counts) int { return one(!c.Paused.IsZero()) }) }},
	{name: "limited", ok: "no topic", unit: "topic", advice: "rmq limit TOPIC --off ends it before its time",
		count: func(v *visited) int { return one(v.policy != protocol.Policy{}) },
		say: func(v *visited) string {
			short := v.policy
			short.Left = humantime.Round(short.Left)
			return ask.LimitText(short)
		}},
	{name: "dead", ok: "no message", unit: "message", advice: "rmq dead list TOPIC shows why; then requeue or delete them",
		count: func(v *visited) int { return v.seen.Sum(func(c *byhand.Counts) int { return c.Dead }) }},
}

// tally is what a check has found in the topics so far.
type tally struct {
	findings []finding
	n        int
	topics   []string
}

// visit has all checks look at a topic, and returns the slots that seem to be stuck.
func visit(ctx context.Context, d *doctor, t ask.Topic, all []tally, failed *ask.Failures) (seem []who.Stuck, err error) {
	v := visited{Topic: t}
	v.seen, err = d.Look(ctx, t)
	if err = failed.Merge(err); err == nil {
		v.policy, err = d.Policy(ctx, t)
		err = failed.Merge(err)
	}
	if err == nil {
		v.probing, err = d.ProbingAt(ctx, t, v.seen.Shares)
		err = failed.Merge(err)
	}
	if err != nil {
		return nil, err
	}
	for n, c := range topicChecks {
		if c.find == nil {
			if some := c.count(&v); some > 0 {
				what := fmt.Sprint(some)
				if c.say != nil {
					what = c.say(&v)
				}
				all[n].n, all[n].topics = all[n].n+some, append(all[n].topics, fmt.Sprintf("%s (%s)", t.Name, what))
			}
			continue
		}
		findings, err := c.find(ctx, d, &v)
		all[n].findings = append(all[n].findings, findings...)
		if err = failed.Merge(err); err != nil {
			return nil, err
		}
	}
	for _, s := range d.SeemStuck(ctx, t, v.seen) {
		_, probes := v.probing[v.seen.Owner(s.Slot)]
		if slowly := probes || v.policy != (protocol.Policy{}); !s.Batch && slowly { // and why is known
			continue
		}
		seem = append(seem, s)
	}
	return seem, nil
}

// one is 1 for what is so.
func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// stuckSlots looks once more at slots that seem to be stuck.
func stuckSlots(ctx context.Context, d *doctor, seem []who.Stuck) (findings []finding) {
	stuck, err := d.StayStuck(ctx, seem)
	for _, s := range stuck {
		f := warn(s.String(), s.Advice)
		if s.Batch {
			f.level = Fail
		}
		findings = append(findings, f)
	}
	if err != nil {
		findings = append(findings, warn("not every slot could be looked at again: "+ask.OneLine(err), "look again"))
	}
	return findings
}

// latest is the time of the servers that have counted slots, the latest one.
func latest(counts []byhand.Counts) (now time.Time) {
	for _, c := range counts {
		now = ask.Later(now, c.Now)
	}
	return now
}

// overrunAfter is how long after its Timeout a handler may still need to return. Its context is cancelled by then.
const overrunAfter = 5 * time.Second

// overrun are findings about handlers that run for longer than their Timeout: they ignore that their context is cancelled.
func overrun(all []who.Running, now time.Time) (found []finding) {
	for _, r := range all {
		if ran := now.Sub(r.Since); ran > r.Timeout+overrunAfter {
			found = append(found, warn(fmt.Sprintf("topic %s slot %d: a handler of worker %s has run %s for %s; its Timeout, %s, is over, and it ignores that its context is cancelled",
				r.Topic, r.Slot, r.Worker, who.What(&r), humantime.Duration(ran), humantime.Duration(r.Timeout)),
				"look where it hangs (kill -QUIT prints all goroutines of the worker, and ends it), and have what it calls there end with its context; restart that worker"))
		}
	}
	return found
}

// onlyProbe says in words which workers only probe, and since when.
func onlyProbe(probing map[string]time.Time) string {
	first := ""
	for worker, since := range probing {
		if first == "" || since.Before(probing[first]) || since.Equal(probing[first]) && worker < first {
			first = worker
		}
	}
	if n := len(probing); n > 1 {
		return fmt.Sprintf("%d workers only probe, the first, %s, since %s", n, first, probing[first].Format(time.DateTime))
	}
	return fmt.Sprintf("its worker %s only probes since %s", first, probing[first].Format(time.DateTime))
}
