package request

import (
	"slices"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
)

// Slots are those of a topic that are meant, each once; nil: all.
type Slots struct {
	Slots []int `json:"slots"`
}

// Meant are these slots, in order.
func (s Slots) Meant() ([]int, error) {
	slices.Sort(s.Slots)
	return slices.Compact(s.Slots), someSlots(s.Slots)
}

// Limit slows a topic down for some time.
type Limit struct {
	Rate        *string `json:"rate"`
	Concurrency *int    `json:"concurrency"`
	For         string  `json:"for"`
}

// Policy is the limit as the library has it.
func (l Limit) Policy() (p inspector.Policy, err error) {
	switch {
	case l.For == "":
		return p, problem.Invalid("for", "missing", "how long the limit is to hold, as in 1h")
	case l.Rate == nil && l.Concurrency == nil:
		return p, problem.Invalid("rate", "missing", "a rate such as 50/s, unless there is a concurrency")
	case l.Concurrency != nil && *l.Concurrency < 1:
		return p, problem.Invalid("concurrency", strconv.Itoa(*l.Concurrency), "1 or more; to stop a topic, pause it")
	case l.Concurrency != nil:
		p.Concurrency = *l.Concurrency
	}
	if l.Rate != nil {
		if p.Rate, err = rate(*l.Rate, "50/s; to stop a topic, pause it"); err != nil {
			return p, err
		}
	}
	if err := read(field{"for", l.For, &p.For}); err != nil {
		return p, err
	}
	if p.For < time.Second {
		err = problem.Invalid("for", l.For, "from 1s to 10 years")
	}
	return p, err
}

// Move is another time or priority for a message that waits: one of the three.
type Move struct {
	In       *string `json:"in"`
	At       *string `json:"at"`
	Priority *int64  `json:"priority"`
}

// To is where to, and the field that says so.
func (m Move) To() (by string, to inspector.Move, err error) {
	const one = "one of in, at and priority"
	for _, f := range [...]struct {
		name  string
		given bool
	}{{"in", m.In != nil}, {"at", m.At != nil}, {"priority", m.Priority != nil}} {
		switch {
		case f.given && by != "":
			return by, to, problem.Invalid(f.name, "given beside "+by, one)
		case f.given:
			by = f.name
		}
	}
	switch by {
	case "in":
		if to.In, err = humantime.ParseSpan(*m.In); err != nil || to.In > 0 && to.In < time.Millisecond {
			err = problem.Invalid(by, *m.In, "a duration of 1ms or more, such as 90s, 1h30m or 7d; or 0, which is now")
		}
	case "at":
		if to.At, err = humantime.ParseStamp(*m.At); err != nil {
			err = problem.Invalid(by, *m.At, "a time such as 2026-01-31T15:04:05Z")
		}
	case "priority":
		if to.Priority = *m.Priority; to.Priority == 0 { // which a move takes for none
			err = problem.Invalid(by, "0", "17 to 9007199254740991 (2^53 - 1)")
		}
	default:
		err = problem.Invalid("in", "missing", one)
	}
	return by, to, err
}

// Plan is what is asked of a plan. The words are those of the flags of rmq every set.
type Plan struct {
	Content
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

// Recurring is what is to be sent again and again.
func (p Plan) Recurring(name string) (m message.Recurring, err error) {
	m = message.Recurring{Name: name, SlotBasis: p.Basis, Priority: p.Priority, Cron: p.Cron, Zone: p.Zone, Repeat: p.Repeat}
	if m.Content, _, err = p.read(); err != nil {
		return m, err
	}
	if m.Content == "" {
		return m, problem.Invalid("content", "missing", "what is to be sent")
	}
	if p.Missed != "" {
		var known bool
		if m.Missed, known = message.ParseMissed(p.Missed); !known {
			return m, problem.Invalid("missed", strconv.Quote(p.Missed), "once or skip")
		}
	}
	err = read(field{"delay", p.Delay, &m.Delay}, field{"period", p.Period, &m.Period}, field{"from", p.From, &m.From}, field{"until", p.Until, &m.Until})
	return m, err
}

// Restore is what is asked to be brought back. The words are those of the flags of rmqd journal restore.
type Restore struct {
	Topics    []string `json:"topics"`
	Content            // of one message, of the one topic
	Since     string   `json:"since"`
	NewerThan string   `json:"newer_than"`
	Expired   bool     `json:"expired"`
	LeaveDead bool     `json:"leave_dead"`
	Rate      string   `json:"rate"`
	DryRun    bool     `json:"dry_run"`
}

// Options are what is asked, as the library has it.
func (r Restore) Options() (o recovery.Restore, err error) {
	o = recovery.Restore{Topics: r.Topics, Expired: r.Expired, LeaveDead: r.LeaveDead, DryRun: r.DryRun}
	if r.Topics != nil && len(r.Topics) == 0 {
		return o, problem.Invalid("topics", "[]", "the names of some topics; leave it out for all")
	}
	var one bool
	if o.Content, one, err = r.read(); err != nil {
		return o, err
	}
	switch {
	case one && o.Content == "": // as of a variable that is not set: it must not mean all
		return o, problem.Invalid("content", "empty", "the content of a message; leave it out to restore the whole topic")
	case one && len(r.Topics) != 1:
		return o, problem.Invalid("topics", strconv.Itoa(len(r.Topics))+" topics", "one topic where there is a content")
	}
	var newer time.Duration
	if err := read(field{"since", r.Since, &o.Since}, field{"newer_than", r.NewerThan, &newer}); err != nil {
		return o, err
	}
	if err := age("newer_than", r.NewerThan, newer); err != nil {
		return o, err
	}
	switch {
	case newer > 0 && r.Since != "":
		return o, problem.Invalid("newer_than", r.NewerThan, "missing where there is a since")
	case newer > 0:
		o.Since = time.Now().Add(-newer)
	}
	o.Rate, err = Rate(r.Rate, "5000/s")
	return o, err
}
