package ask

import (
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
)

// ReadRule also finds what no program would have set for such a topic, and no worker sends.
func ReadRule(t Topic, name, text string) (*plan.Rule, error) {
	rule, err := plan.Read(name, text)
	if err == nil {
		err = checked.Recurring(t.Topic, rule.Message(), limits.ContentBytes)
	}
	return rule, err
}
