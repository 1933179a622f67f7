package plan

import (
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
)

// Next is the first time of the rule after one, if it was set at base; false if there is none.
func (r *Rule) Next(base, after time.Time) (time.Time, bool) {
	least := max(after.UnixMilli(), base.UnixMilli(), r.from-1)
	next, found := r.nextOf(base.UnixMilli(), least)
	if !found || next > r.until {
		return time.Time{}, false
	}
	return time.UnixMilli(next).UTC(), true
}

// First is the first time of a rule that is set at base. If it is over by then, the error is a
// [message.InvalidError].
func (r *Rule) First(base time.Time) (time.Time, error) {
	first, found := r.Next(base, base)
	if !found {
		return first, r.over()
	}
	return first, nil
}

// over says why nothing is left to send.
func (r *Rule) over() error {
	switch {
	case !r.message.Until.IsZero():
		return checked.Invalid("Until", show(r.message.Until), "later: nothing is left to send")
	case r.firings == nil && r.from > 0:
		return checked.Invalid("From", show(r.message.From), "later: nothing is left to send")
	}
	return checked.Invalid("Delay", r.message.Delay.String(), "shorter: nothing is sent before the year 10000")
}

func show(t time.Time) string { return t.Format(time.RFC3339Nano) }

// nextOf looks at the firings which still send after least, and at the first one that only begins
// then. It asks for one firing for each step, and never for more than Repeat + 1.
func (r *Rule) nextOf(base, least int64) (next int64, found bool) {
	if r.firings == nil {
		firing := base
		if r.from > 0 {
			firing = r.from
		}
		steps := r.steps(firing, least)
		endless := r.period > 0 && r.repeat == 0
		return firing + r.delay + steps*r.period, endless || steps <= r.repeat
	}
	for steps := r.repeat; steps >= 0; steps-- {
		// What fires later than this needs no more than so many steps to come after least.
		firing, comes := r.firings(least - r.delay - steps*r.period)
		if !comes {
			break
		}
		steps = r.steps(firing, least)
		if at := firing + r.delay + steps*r.period; !found || at < next {
			next, found = at, true
		}
	}
	return next, found
}

// steps is how many periods after its first time a firing has one after least.
func (r *Rule) steps(firing, least int64) int64 {
	first := firing + r.delay
	switch {
	case first > least:
		return 0
	case r.period == 0:
		return r.repeat + 1 // none
	}
	return (least-first)/r.period + 1
}
