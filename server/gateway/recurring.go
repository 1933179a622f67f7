package gateway

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/message"
)

// recurring lists the plans of a topic.
func (c *call) recurring() error {
	q, err := c.query("after", "limit")
	if err != nil {
		return err
	}
	topic := c.r.PathValue("topic")
	plans, err := c.inspector.Plans(c.ctx(), topic)
	missing, err := c.missing(err)
	if err != nil {
		return err
	}
	plans, more, err := page(q, plans, func(p inspector.Plan) string { return p.Name })
	if err != nil {
		return err
	}
	answer := struct {
		Recurring []wire.Plan `json:"recurring"`
		list
	}{make([]wire.Plan, len(plans)), list{more, missing}}
	for n, p := range plans {
		answer.Recurring[n] = wire.PlanOf(topic, p, false)
	}
	return c.answer(http.StatusOK, answer)
}

// plan is what is asked of a plan. The words are those of the flags of rmq every set.
type plan struct {
	written
	Basis    string `json:"basis"`
	Priority int64  `json:"priority"`
	Cron     string `json:"cron"`
	Zone     string `json:"zone"`
	Delay    string `json:"delay"`
	Period   string `json:"period"`
	Repeat   int    `json:"repeat"`
	From     string `json:"from"`
	Until    string `json:"until"`
	Missed   string `json:"missed"`
}

func (p plan) message(name string) (m message.Recurring, err error) {
	m = message.Recurring{Name: name, SlotBasis: p.Basis, Priority: p.Priority, Cron: p.Cron, Zone: p.Zone, Repeat: p.Repeat}
	if m.Content, _, err = p.read(); err != nil {
		return m, err
	}
	if m.Content == "" {
		return m, invalid("content", "missing", "what is to be sent")
	}
	if p.Missed != "" {
		var known bool
		if m.Missed, known = message.ParseMissed(p.Missed); !known {
			return m, invalid("missed", strconv.Quote(p.Missed), "once or skip")
		}
	}
	if err := spans(field{"delay", p.Delay, &m.Delay}, field{"period", p.Period, &m.Period}); err != nil {
		return m, err
	}
	if err := instant("from", p.From, &m.From); err != nil {
		return m, err
	}
	return m, instant("until", p.Until, &m.Until)
}

// setRecurring sets a plan, or replaces its rule.
func (c *call) setRecurring() error {
	if _, err := c.query(); err != nil {
		return err
	}
	var asked plan
	if err := c.read(&asked); err != nil {
		return err
	}
	m, err := asked.message(c.r.PathValue("name"))
	if err != nil {
		return err
	}
	topic := c.r.PathValue("topic")
	change, err := c.inspector.SetPlan(c.ctx(), topic, m)
	if err != nil {
		return c.undone(err)
	}
	plans, err := c.inspector.Plans(c.ctx(), topic)
	for _, p := range plans {
		if p.Name == m.Name {
			return c.answer(http.StatusOK, wire.PlanSet{Plan: wire.PlanOf(topic, p, false), Change: change.String()})
		}
	}
	if err == nil {
		err = &problem{Type: "conflict", Status: http.StatusConflict, Detail: fmt.Sprintf("the plan %q was set, and stopped by someone else at once", shorten(m.Name))}
	}
	return c.undone(err)
}

// stopRecurring ends a plan.
func (c *call) stopRecurring() error {
	if _, err := c.query(); err != nil {
		return err
	}
	topic, name := c.r.PathValue("topic"), c.r.PathValue("name")
	stopped, err := c.inspector.StopPlan(c.ctx(), topic, name)
	switch {
	case err != nil:
		return c.undone(err)
	case !stopped:
		return &problem{Type: "not-found", Status: http.StatusNotFound,
			Detail: fmt.Sprintf("there is no plan %q in topic %q; GET /v1/topics/TOPIC/recurring lists those that there are", shorten(name), topic)}
	}
	return c.answer(http.StatusOK, wire.PlanStopped{Topic: topic, Name: name, Stopped: true})
}
