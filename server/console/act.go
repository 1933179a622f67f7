package console

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/server/console/internal/problem"
	"github.com/slotmq/go-rmq/server/internal/audit"
)

// What people change, with a line in the log for each.

// note logs what someone has done, or tried to.
func (v *visit) note(d audit.Action, err error) {
	if d.By == "" || v.cfg.Who != nil {
		d.By = v.who
	}
	d.Log(v.log, v.r, err)
}

// did logs what someone has done, or tried to, and leads to the page that says so.
func (v *visit) did(d audit.Action, err error, page string, q url.Values) error {
	if v.note(d, err); err != nil {
		return err
	}
	return v.goTo(page, q)
}

// slotsParam are the slots that a form names; nil: all.
func slotsParam(v *visit) ([]int, error) {
	if v.field("slots") == "" {
		return nil, nil
	}
	all, err := wire.ParseSlots(v.field("slots"))
	if err != nil {
		err = problem.Slots
	}
	return all, err
}

func doPause(v *visit) error  { return stopOrGo(v, "pause", v.inspector.Pause) }
func doResume(v *visit) error { return stopOrGo(v, "resume", v.inspector.Resume) }

// changeSlots is [inspector.Inspector.Pause] or Resume.
type changeSlots = func(ctx context.Context, topic string, slots []int) (int, error)

func stopOrGo(v *visit, what string, change changeSlots) error {
	topic := v.param("topic")
	slots, err := slotsParam(v)
	if err != nil {
		return err
	}
	if slots == nil && what == "pause" && v.param("all") == "" {
		return problem.Refused("To pause the whole topic, tick the box for all slots; or name some.")
	}
	n, err := change(v.ctx, topic, slots)
	return v.did(audit.Action{What: what, Topic: topic, Count: n, With: audit.Slots(slots)}, err, "topic", url.Values{"topic": {topic}, "done": {what}, "n": {strconv.Itoa(n)}})
}

// doLimit slows a topic down for some time, or ends that.
func doLimit(v *visit) error {
	topic := v.param("topic")
	if v.param("off") != "" {
		was, err := v.inspector.Unlimit(v.ctx, topic)
		return v.did(audit.Action{What: "unlimit", Topic: topic, Count: audit.Number(was)}, err, "topic", url.Values{"topic": {topic}, "done": {"unlimit"}})
	}
	var p inspector.Policy
	var err error
	if text := v.field("rate"); text != "" {
		if p.Rate, err = humantime.ParseRate(text); err != nil {
			return problem.Refused("A rate is written as 50/s, 600/m or 10/h.")
		}
	}
	if text := v.field("concurrency"); text != "" {
		if p.Concurrency, err = strconv.Atoi(text); err != nil || p.Concurrency < 1 {
			return problem.Refused("The number of handlers is 1 or more. To stop a topic, pause it.")
		}
	}
	if p.For, err = humantime.ParseSpan(v.field("for")); err != nil {
		return problem.Refused("How long it holds is written as 90s, 1h30m or 2d.")
	}
	if p.Rate == 0 && p.Concurrency == 0 {
		return problem.Refused("Write a rate, a number of handlers, or both.")
	}
	err = v.inspector.Limit(v.ctx, topic, p)
	return v.did(audit.Action{What: "limit", Topic: topic, Count: audit.Number(err == nil), With: p.String()}, err, "topic", url.Values{"topic": {topic}, "done": {"limit"}})
}

// move is the new time or priority that a form has.
func move(v *visit) (to inspector.Move, err error) {
	switch v.param("to") {
	case "now":
		return to, nil
	case "in":
		if to.In, err = humantime.ParseSpan(v.field("in")); err != nil || to.In < time.Millisecond {
			return to, problem.Refused("How long to wait is written as 90s, 1h30m or 2d.")
		}
		return to, nil
	case "priority":
		if to.Priority, err = strconv.ParseInt(v.field("priority"), 10, 64); err != nil {
			return to, problem.Refused("A priority is a whole number.")
		}
		return to, checked.Priority(to.Priority)
	}
	return to, problem.Refused("Choose what the message is to have: another time, or another priority.")
}

// stopPlan is what the page shows that asks before a plan ends.
type stopPlan struct{ Topic, Plan string }

func loadStopPlan(v *visit) (any, error) {
	return stopPlan{v.param("topic"), v.param("plan")}, nil
}

// doStopPlan ends a plan.
func doStopPlan(v *visit) error {
	topic := v.param("topic")
	stopped, err := v.inspector.Plans().Stop(v.ctx, topic, v.param("plan"))
	done := "plan-stopped"
	if !stopped {
		done = "plan-gone"
	}
	return v.did(audit.Action{What: "stop plan", Topic: topic, Count: audit.Number(stopped), Which: v.param("plan")}, err, "recurring", url.Values{"topic": {topic}, "done": {done}})
}
