package plan

import (
	"errors"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/upkeep/cron"
	"github.com/slotmq/go-rmq/message"
)

// Rule is the rule of a recurring message that was checked. It never changes.
type Rule struct {
	message message.Recurring // all its times in whole milliseconds

	// firings is the next firing of Cron after a time; nil without Cron.
	firings func(after int64) (int64, bool)

	// The numbers of the series, in ms.
	delay, period int64
	repeat        int64
	from, until   int64 // from is 0 if it is open
}

// New checks the rule of a message for topic t. maxContent bounds its content in bytes. An error
// is a [message.InvalidError]. Whether the rule is over when it is set is said by [Rule.First].
func New(t message.Topic, m message.Recurring, maxContent int) (*Rule, error) {
	if err := checked.Recurring(t, m, maxContent); err != nil {
		return nil, err
	}
	return open(m)
}

// open checks the times of a rule, and makes it ready to be asked for them.
func open(m message.Recurring) (*Rule, error) {
	if err := checked.Series(m); err != nil {
		return nil, err
	}
	m = whole(m)
	r := &Rule{
		message: m, until: limits.MaxTime - 1,
		delay: m.Delay.Milliseconds(), period: m.Period.Milliseconds(), repeat: int64(m.Repeat),
	}
	if !m.From.IsZero() {
		r.from = m.From.UnixMilli()
	}
	if !m.Until.IsZero() {
		r.until = m.Until.UnixMilli()
	}
	if err := r.readCron(); err != nil {
		return nil, err
	}
	if m.Cron != "" || r.from > 0 { // else the times depend on base
		if _, err := r.First(time.UnixMilli(0)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// whole rounds to milliseconds.
func whole(m message.Recurring) message.Recurring {
	const ms = time.Millisecond
	m.Delay = (m.Delay + ms - 1).Truncate(ms)
	m.Period = (m.Period + ms - 1).Truncate(ms)
	if !m.From.IsZero() {
		m.From = time.UnixMilli(m.From.Add(ms - 1).UnixMilli()).UTC()
	}
	if !m.Until.IsZero() {
		m.Until = time.UnixMilli(m.Until.UnixMilli()).UTC()
	}
	return m
}

// readCron reads Cron and Zone.
func (r *Rule) readCron() error {
	if r.message.Cron == "" {
		return nil
	}
	expression, err := cron.Parse(r.message.Cron)
	if err != nil {
		return wrongCron(r.message.Cron, err)
	}
	zone, err := loadZone(r.message.Zone)
	if err != nil {
		return err
	}
	r.firings = func(after int64) (int64, bool) {
		next, found := expression.Next(time.UnixMilli(after), zone)
		return next.UnixMilli(), found
	}
	if _, found := r.firings(0); !found {
		return checked.Invalid("Cron", checked.Quote(r.message.Cron), "a time that comes: no month it names has such a day")
	}
	return nil
}

// loadZone refuses what is another zone on each machine.
func loadZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, checked.Invalid("Zone", checked.Quote(name), `a time zone that this machine knows, such as "Europe/Berlin" or "UTC"`)
	}
	return zone, nil
}

// wrongCron names the field of the expression that is wrong.
func wrongCron(text string, err error) error {
	var wrong *cron.Error
	if !errors.As(err, &wrong) {
		return err
	}
	if wrong.Field == "expression" {
		return checked.Invalid("Cron", wrong.Value, wrong.Limit)
	}
	return checked.Invalid("Cron", checked.Quote(text)+" with the "+wrong.Field+" "+wrong.Value, wrong.Limit)
}

// Message is the message and its rule, with all times in whole milliseconds.
func (r *Rule) Message() message.Recurring { return r.message }
