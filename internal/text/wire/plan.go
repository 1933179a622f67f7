package wire

import (
	"github.com/slotmq/go-rmq/inspector/plans"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// Plan is what is sent again and again. Next is missing when it has ended.
type Plan struct {
	Topic string `json:"topic"`
	Name  string `json:"name"`
	Slot  int    `json:"slot"`
	Next  Stamp  `json:"next,omitzero"`
	Set   Stamp  `json:"set,omitzero"`
	*Rule
	Error string `json:"error,omitempty"` // why the rule cannot be read here
}

// Rule is what a plan sends, and when.
type Rule struct {
	Shown
	Basis    string `json:"basis,omitempty"`
	Priority int64  `json:"priority,omitempty"`
	Cron     string `json:"cron,omitempty"`
	Zone     string `json:"zone,omitempty"`
	Delay    Millis `json:"delay_ms,omitempty"`
	Period   Millis `json:"period_ms,omitempty"`
	Repeat   int    `json:"repeat,omitempty"`
	From     Stamp  `json:"from,omitzero"`
	Until    Stamp  `json:"until,omitzero"`
	Missed   string `json:"missed"`
}

// PlanOf is a plan of a topic, with its content in base64 in any case if that is wanted.
func PlanOf(topic string, p plans.Plan, inBase64 bool) Plan {
	j := Plan{Topic: topic, Name: p.Name, Slot: p.Slot, Next: At(p.Next), Set: At(p.Set)}
	if p.Err != nil {
		j.Error = words.OneLine(p.Err.Error())
		return j
	}
	j.Rule = &Rule{
		Show(p.Content, inBase64), p.SlotBasis, p.Priority, p.Cron, p.Zone, Millis(p.Delay), Millis(p.Period), p.Repeat,
		At(p.From), At(p.Until), p.Missed.String(),
	}
	return j
}

// PlanSet is a plan that was set, and what changed: added, replaced, unsent, kept or mended.
type PlanSet struct {
	Plan
	Change string `json:"change"`
}

// PlanStopped is whether there was such a plan.
type PlanStopped struct {
	Topic   string `json:"topic"`
	Name    string `json:"name"`
	Stopped bool   `json:"stopped"`
}
