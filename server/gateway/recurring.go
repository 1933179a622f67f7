package gateway

import (
	"net/http"

	"github.com/slotmq/go-rmq/inspector/plans"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// listRecurring lists the plans of a topic.
func listRecurring(c *call) error {
	all, err := c.inspector.Plans().List(c.ctx(), c.topic())
	shown, rest, err := listed(c, all, err, func(p plans.Plan) string { return p.Name }, func(p plans.Plan) wire.Plan { return wire.PlanOf(c.topic(), p, false) })
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, struct {
		Recurring []wire.Plan `json:"recurring"`
		list
	}{shown, rest})
}

// setRecurring sets a plan, or replaces its rule.
func setRecurring(c *call, asked request.Plan) error {
	m, err := asked.Recurring(c.r.PathValue("name"))
	if err != nil {
		return err
	}
	topic := c.topic()
	change, err := c.inspector.Plans().Set(c.ctx(), topic, m)
	if err != nil {
		return c.undone(err)
	}
	all, err := c.inspector.Plans().List(c.ctx(), topic)
	for _, p := range all {
		if p.Name == m.Name {
			return c.answer(http.StatusOK, wire.PlanSet{Plan: wire.PlanOf(topic, p, false), Change: change.String()})
		}
	}
	if err == nil {
		err = problem.New("conflict", "the plan %q was set, and stopped by someone else at once", problem.Shorten(m.Name))
	}
	return c.undone(err)
}

// stopRecurring ends a plan.
func stopRecurring(c *call) error {
	topic, name := c.topic(), c.r.PathValue("name")
	stopped, err := c.inspector.Plans().Stop(c.ctx(), topic, name)
	switch {
	case err != nil:
		return c.undone(err)
	case !stopped:
		return problem.New("not-found", "there is no plan %q in topic %q; GET /v1/topics/TOPIC/recurring lists those that there are", problem.Shorten(name), topic)
	}
	return c.answer(http.StatusOK, wire.PlanStopped{Topic: topic, Name: name, Stopped: true})
}
