package keeper

import "time"

// delays are how long the coordinator waits before it changes assignments.
type delays struct {
	// urgent is how long slots without a worker wait, so that workers which leave together
	// are noticed together.
	urgent time.Duration

	// even is for slots that only move to another worker: they wait until no worker has
	// come for so long. So a slot moves once while a fleet starts or is replaced. The wait
	// never takes longer than most.
	even, most time.Duration
}

var usualDelays = delays{urgent: 100 * time.Millisecond, even: time.Second, most: 5 * time.Second}

// delay says when to act on changes that go on.
type delay struct {
	first, due time.Time
	urgent     bool
}

// note must be called for every change until reset.
func (d *delay) note(now time.Time, urgent bool, of delays) {
	if d.first.IsZero() {
		d.first = now
	}
	switch {
	case d.urgent: // more of it does not put it off
	case urgent:
		d.urgent = true
		if due := now.Add(of.urgent); d.due.IsZero() || due.Before(d.due) {
			d.due = due
		}
	default:
		d.due = now.Add(of.even)
		if last := d.first.Add(of.most); last.Before(d.due) {
			d.due = last
		}
	}
}

func (d *delay) reset() { *d = delay{} }
