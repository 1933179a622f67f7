package ask

import (
	"context"
	"strings"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
)

func (g *Ground) Policy(ctx context.Context, t Topic) (protocol.Policy, error) {
	name := g.Qualified(t.Name)
	key := protocol.PolicyKey(name)
	var held protocol.Policy
	err := g.Masters.Silent(ctx, g.Redis, []string{key})[0]
	if err == nil {
		cmd := g.Scripts.PolicyCmd(ctx, name)
		script.Exec(ctx, g.Redis, cmd)
		held, err = protocol.PolicyAnswer(name, cmd)
	}
	failed := g.Failing()
	if err := failed.Add(ctx, t.Name, -1, key, g.Explain(err)); err != nil {
		return protocol.Policy{}, err
	}
	return held, failed.Err()
}

// LimitText is a limit in words: 50/s, 4 handlers in each worker, for 59m58s.
func LimitText(p protocol.Policy) string {
	var parts []string
	if p.Rate > 0 {
		parts = append(parts, humantime.Rate(p.Rate))
	}
	if p.Concurrency > 0 {
		parts = append(parts, Plural(p.Concurrency, "handler")+" in each worker")
	}
	if parts == nil {
		return "no limit"
	}
	return strings.Join(append(parts, "for "+humantime.Duration(p.Left)), ", ")
}

// ReadRule also finds what no program would have set for such a topic, and no worker sends.
func ReadRule(t Topic, name, text string) (*plan.Rule, error) {
	rule, err := plan.Read(name, text)
	if err == nil {
		err = checked.Recurring(t.Topic, rule.Message(), limits.ContentBytes)
	}
	return rule, err
}
