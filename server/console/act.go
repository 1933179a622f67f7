package console

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/server/internal/audit"
)

// What people change, with a line in the log for each.

// note logs what someone has done, or tried to.
func (v *visit) note(d audit.Deed, err error) {
	if d.By == "" || v.cfg.Who != nil {
		d.By = v.who
	}
	d.Log(v.log, v.r, err)
}

// errSlots and badGlob are answers to fields that several forms have.
var errSlots = refused("Slots are written as 3, or 3,7 or 0-5; leave the field empty for all.")

func badGlob(err error) error {
	return refused("The content is like order 47*, with * for any text and ? for one character: " + err.Error() + ".")
}

// slotsParam are the slots that a form names; nil: all.
func (v *visit) slotsParam() ([]int, error) {
	text := strings.TrimSpace(v.param("slots"))
	if text == "" {
		return nil, nil
	}
	all, err := wire.ParseSlots(text)
	if err != nil {
		return nil, errSlots
	}
	return all, nil
}

func (v *visit) doPause() error  { return v.stopOrGo("pause", v.inspector.Pause) }
func (v *visit) doResume() error { return v.stopOrGo("resume", v.inspector.Resume) }

// changeSlots is [inspector.Inspector.Pause] or Resume.
type changeSlots = func(ctx context.Context, topic string, slots []int) (int, error)

func (v *visit) stopOrGo(what string, change changeSlots) error {
	topic := v.param("topic")
	slots, err := v.slotsParam()
	if err != nil {
		return err
	}
	if slots == nil && what == "pause" && v.param("all") == "" {
		return refused("To pause the whole topic, tick the box for all slots; or name some.")
	}
	n, err := change(v.ctx, topic, slots)
	v.note(audit.Deed{What: what, Topic: topic, Count: n, With: audit.Slots(slots)}, err)
	if err != nil {
		return err
	}
	return v.goTo("topic", url.Values{"topic": {topic}, "done": {what}, "n": {strconv.Itoa(n)}})
}

// doLimit slows a topic down for some time, or ends that.
func (v *visit) doLimit() error {
	topic := v.param("topic")
	if v.param("off") != "" {
		was, err := v.inspector.Unlimit(v.ctx, topic)
		v.note(audit.Deed{What: "unlimit", Topic: topic, Count: audit.Number(was)}, err)
		if err != nil {
			return err
		}
		return v.goTo("topic", url.Values{"topic": {topic}, "done": {"unlimit"}})
	}
	var p inspector.Policy
	var err error
	if text := strings.TrimSpace(v.param("rate")); text != "" {
		if p.Rate, err = humantime.ParseRate(text); err != nil {
			return refused("A rate is written as 50/s, 600/m or 10/h.")
		}
	}
	if text := strings.TrimSpace(v.param("concurrency")); text != "" {
		if p.Concurrency, err = strconv.Atoi(text); err != nil || p.Concurrency < 1 {
			return refused("The number of handlers is 1 or more. To stop a topic, pause it.")
		}
	}
	if p.For, err = humantime.ParseSpan(strings.TrimSpace(v.param("for"))); err != nil {
		return refused("How long it holds is written as 90s, 1h30m or 2d.")
	}
	if p.Rate == 0 && p.Concurrency == 0 {
		return refused("Write a rate, a number of handlers, or both.")
	}
	err = v.inspector.Limit(v.ctx, topic, p)
	v.note(audit.Deed{What: "limit", Topic: topic, Count: audit.Number(err == nil), With: p.String()}, err)
	if err != nil {
		return err
	}
	return v.goTo("topic", url.Values{"topic": {topic}, "done": {"limit"}})
}

// move is the new time or priority that a form has.
func (v *visit) move() (to inspector.Move, err error) {
	switch v.param("to") {
	case "now":
		return to, nil
	case "in":
		if to.In, err = humantime.ParseSpan(strings.TrimSpace(v.param("in"))); err != nil || to.In < time.Millisecond {
			return to, refused("How long to wait is written as 90s, 1h30m or 2d.")
		}
		return to, nil
	case "priority":
		if to.Priority, err = strconv.ParseInt(strings.TrimSpace(v.param("priority")), 10, 64); err != nil {
			return to, refused("A priority is a whole number.")
		}
		return to, checked.Priority(to.Priority)
	}
	return to, refused("Choose what the message is to have: another time, or another priority.")
}

// stopPlan is what the page shows that asks before a plan ends.
type stopPlan struct{ Topic, Plan string }

func (v *visit) loadStopPlan() (any, error) {
	return stopPlan{v.param("topic"), v.param("plan")}, nil
}

// doStopPlan ends a plan.
func (v *visit) doStopPlan() error {
	topic := v.param("topic")
	stopped, err := v.inspector.StopPlan(v.ctx, topic, v.param("plan"))
	v.note(audit.Deed{What: "stop plan", Topic: topic, Count: audit.Number(stopped), Which: v.param("plan")}, err)
	if err != nil {
		return err
	}
	done := "plan-stopped"
	if !stopped {
		done = "plan-gone"
	}
	return v.goTo("recurring", url.Values{"topic": {topic}, "done": {done}})
}
