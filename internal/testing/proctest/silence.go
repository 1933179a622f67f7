package proctest

import (
	"slices"
	"time"
)

// everybody is whom Down and Up concern.
const everybody = ""

// grace is how long after a worker could have known something it must have acted.
func (c *check) grace() int64 { return int64(c.rules.Session) / 2 }

// outlived reports whether r, which still ran when h began, may have outlived the
// right to its slot without a fault of its worker's.
func (c *check) outlived(r, h *handling) bool {
	ran := time.Duration(h.At - r.At)
	switch most := c.rules.Hung; {
	case most > 0 && ran > most:
		return true
	case r.Worker == h.Worker:
		return false
	case c.rules.Session == 0:
		return ran > c.rules.Lease/2
	}
	return c.blind(r.Worker, h.At)
}

// mayBeLate reports whether a handler may have begun behind one of a later batch of its slot: its
// worker has looked at its clock in time, and then got no processor for longer than it keeps from
// the end of its right.
func (c *check) mayBeLate(h *handling) bool {
	if c.rules.Session > 0 {
		return c.blind(h.Worker, h.At)
	}
	margin := int64(c.rules.Margin)
	return margin > 0 && slices.ContainsFunc(c.faults[h.Worker], func(w window) bool {
		return (w.why == Freeze || w.why == Stall) && w.to-w.from >= margin && w.from <= h.At && h.At-margin <= w.to
	})
}

// blind reports whether a worker could not know at a time that it had lost its
// session: it was given no processor until shortly before, or was robbed.
func (c *check) blind(worker string, at int64) bool {
	return slices.ContainsFunc(c.faults[worker], func(w window) bool {
		switch w.why {
		case Freeze, Stall:
			return w.from <= at && at-c.grace() <= w.to
		case Rob:
			return w.from <= at && at <= w.to
		case Cut:
			return c.rules.Coasts && w.from <= at && at <= w.to
		default:
			return false
		}
	})
}

// silence checks that a worker that was not heard of for a session has ended its
// handlers by then, and begins none from shortly before.
func (c *check) silence() {
	if c.rules.Session == 0 || c.rules.Coasts {
		return
	}
	for _, h := range c.handlings {
		for _, w := range slices.Concat(c.faults[h.Worker], c.faults[everybody]) {
			if w.why != Cut && w.why != Down {
				continue
			}
			last := w.from + int64(c.rules.Session)*5/6
			late := w.from + int64(c.rules.Session) + c.grace()
			switch {
			case last < h.At && h.At < w.to && !c.blind(h.Worker, h.At):
				c.fault("begun %v after its worker was cut off: %s", time.Duration(h.At-w.from), describe(h.Event))
			case h.At <= last && late < h.end && late < w.to && !c.blind(h.Worker, late):
				c.fault("still running %v after its worker was cut off: %s", time.Duration(late-w.from), describe(h.Event))
			}
		}
	}
}
