package inspector

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/internal/text/humantime"
)

// visited is a topic that the doctor looks at, with what was read of it for all checks.
type visited struct {
	Topic
	seen    seen
	stats   Stats
	policy  Policy
	probing map[string]time.Time
}

// topicCheck is what the doctor looks for in each topic.
type topicCheck struct {
	name, ok string

	// find returns what is wrong with a topic.
	find func(ctx context.Context, i *Inspector, v *visited) ([]finding, error)

	// Or count returns how many units of the topic it is, and says it. It is told of all topics together.
	count        func(v *visited) (n int, what string)
	unit, advice string
}

var topicChecks = []topicCheck{
	{name: "workers", ok: "no topic has messages due and no worker", find: func(_ context.Context, _ *Inspector, v *visited) ([]finding, error) {
		if v.stats.Due == 0 || v.stats.Workers > 0 || v.stats.Takers > 0 {
			return nil, nil
		}
		return []finding{warn(fmt.Sprintf("topic %s has %d due and no worker", v.Name, v.stats.Due), "start workers that listen to it")}, nil
	}},
	{name: "slots", ok: "none stands still", find: func(_ context.Context, _ *Inspector, v *visited) ([]finding, error) {
		if v.probing == nil {
			return nil, nil
		}
		return []finding{warn(fmt.Sprintf("topic %s: %s: what its handlers need is away", v.Name, onlyProbe(v.probing)),
			"look for the error in that worker's log, or by rmq peek TOPIC --state retrying, and mend what is away")}, nil
	}},
	{name: "handlers", ok: "none runs for longer than its Timeout", find: func(ctx context.Context, i *Inspector, v *visited) ([]finding, error) {
		running, err := i.running(ctx, []Topic{v.Topic})
		return stuck(running[v.Name], latest(v.seen.counts)), err
	}},
	{name: "plans", ok: "none is overdue", find: func(ctx context.Context, i *Inspector, v *visited) ([]finding, error) {
		return i.unsent(ctx, v.Topic, v.seen)
	}},
	{name: "paused", ok: "no slot", unit: "slot", advice: "rmq resume TOPIC when it is time",
		count: func(v *visited) (int, string) { return v.stats.Paused, fmt.Sprint(v.stats.Paused) }},
	{name: "limited", ok: "no topic", unit: "topic", advice: "rmq limit TOPIC --off ends it before its time", count: func(v *visited) (int, string) {
		if v.policy == (Policy{}) {
			return 0, ""
		}
		short := v.policy
		short.For = humantime.Round(short.For)
		return 1, short.String()
	}},
	{name: "dead", ok: "no message", unit: "message", advice: "rmq dead list TOPIC shows why; then requeue or delete them",
		count: func(v *visited) (int, string) { return v.stats.Dead, fmt.Sprint(v.stats.Dead) }},
}

// tally is what a check has found in the topics so far.
type tally struct {
	findings []finding
	n        int
	topics   []string
}

// visit has all checks look at a topic, and returns the slots that seem to stand still.
func visit(ctx context.Context, i *Inspector, t Topic, all []tally, failed *failures) (seem []still, err error) {
	v := visited{Topic: t}
	v.seen, err = i.look(ctx, t)
	if err = failed.merge(err); err == nil {
		v.policy, err = i.policy(ctx, t)
		err = failed.merge(err)
	}
	if err == nil {
		v.probing, err = i.probingAt(ctx, t, v.seen.shares)
		err = failed.merge(err)
	}
	if err != nil {
		return nil, err
	}
	v.stats = sum(t, v.seen)
	for n, c := range topicChecks {
		if c.find == nil {
			if some, what := c.count(&v); some > 0 {
				all[n].n, all[n].topics = all[n].n+some, append(all[n].topics, fmt.Sprintf("%s (%s)", t.Name, what))
			}
			continue
		}
		findings, err := c.find(ctx, i, &v)
		all[n].findings = append(all[n].findings, findings...)
		if err = failed.merge(err); err != nil {
			return nil, err
		}
	}
	for _, s := range i.seemStill(ctx, t, v.seen) {
		_, probes := v.probing[v.seen.owner(s.slot)]
		if slowly := probes || v.policy != (Policy{}); s.level == Warn && slowly { // and why is known
			continue
		}
		seem = append(seem, s)
	}
	return seem, nil
}

// stopped looks once more at slots that seem to stand still.
func stopped(ctx context.Context, i *Inspector, seem []still) (findings []finding) {
	still, err := i.standStill(ctx, seem)
	for _, s := range still {
		findings = append(findings, finding{level: s.level, detail: s.String(), advice: s.advice})
	}
	if err != nil {
		findings = append(findings, warn("not every slot could be looked at again: "+oneLine(err), "look again"))
	}
	return findings
}
