package poll

import (
	"slices"
	"sync"
)

// taker is one call of Take. It waits at several desks, and gets one batch.
type taker struct {
	Take
	served chan *Held // holds the one it got

	mu   sync.Mutex
	over bool // it has its batch, or does not wait any more
}

func newTaker(t Take) *taker { return &taker{Take: t, served: make(chan *Held, 1)} }

// give gives a batch to the taker. It is false if that has one, or does not wait any more.
func (t *taker) give(h *Held) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.over = true
	t.served <- h
	return true
}

// waits reports whether a batch could be given to the taker.
func (t *taker) waits() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.over
}

// goAway ends the wait, and returns the batch that it got before that, if any.
func (t *taker) goAway() *Held {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	select {
	case h := <-t.served:
		return h
	default:
		return nil
	}
}

// seat is a taker's place at one desk. Its fields are guarded by the lock of the desk.
type seat struct {
	*taker
	desk    *desk
	engaged bool          // a turn is taken for it
	nothing chan struct{} // closed when the desk has looked, and has nothing for it
	told    bool          // that is closed
	trouble error         // why the desk has no answer; nil: it has
}

// tell has the taker go on: there is nothing for it at the moment.
func (s *seat) tell() {
	if !s.told {
		s.told = true
		close(s.nothing)
	}
}

// join has a taker wait at the desk.
func (d *desk) join(t *taker) *seat {
	s := &seat{taker: t, desk: d, nothing: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seats = append(d.seats, s)
	d.admit()
	d.tellIfNothing()
	return s
}

// part ends the wait of a taker at the desk, and returns why it had no answer, if it had none.
func (d *desk) part(s *seat) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seats = slices.DeleteFunc(d.seats, func(other *seat) bool { return other == s })
	d.admit()
	return s.trouble
}

// engage returns the seat for which a turn is to be taken, if anybody waits that has none.
func (d *desk) engage() *seat {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.seats {
		if !s.engaged && s.waits() {
			s.engaged = true
			return s
		}
	}
	return nil
}

// disengage lets another turn be taken for a seat. Trouble is why this one has no answer, if it has none.
func (d *desk) disengage(s *seat, trouble error) {
	if s == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s.engaged, s.trouble = false, trouble
	if trouble != nil {
		s.tell()
	}
}

// settled looks whether there is nothing to take, behind what has changed in the schedule.
func (d *desk) settled() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tellIfNothing()
}

// tellIfNothing runs with d.mu held.
func (d *desk) tellIfNothing() {
	if busy, _ := d.schedule.Busy(); busy > 0 {
		return
	}
	for _, s := range d.seats {
		s.tell()
	}
}
