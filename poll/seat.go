package poll

import (
	"errors"
	"slices"
	"sync"
)

// ErrTooMany is found by errors.Is in the error of a take from a topic where MostWaiting takers wait already.
var ErrTooMany = errors.New("too many takers wait for it; take with fewer, or with another process")

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
	parted  bool          // its taker does not wait here any more
}

// tell has the taker go on: there is nothing for it at the moment.
func (s *seat) tell() {
	if !s.told {
		s.told = true
		close(s.nothing)
	}
}

// join has a taker wait at the desk. It returns nil if the desk closes.
func (d *desk) join(t *taker) (*seat, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending {
		return nil, nil
	}
	if len(d.seats) >= MostWaiting {
		return nil, ErrTooMany
	}
	s := &seat{taker: t, desk: d, nothing: make(chan struct{})}
	d.seats, d.asking = append(d.seats, s), append(d.asking, s)
	d.admit()
	d.tellIfNothing()
	return s, nil
}

// part ends the wait of a taker at the desk, and returns why nobody knows whether there is something, if so.
func (d *desk) part(s *seat) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.parted, d.seats = true, without(d.seats, s)
	if !s.told {
		d.asking = without(d.asking, s)
	}
	if len(d.seats) == 0 && !d.ending {
		d.idle.Reset(d.idleAfter)
	}
	d.admit()
	return d.trouble
}

func without(seats []*seat, s *seat) []*seat {
	if i := slices.Index(seats, s); i >= 0 {
		return slices.Delete(seats, i, i+1)
	}
	return seats
}

// engage returns the seat for which a turn is to be taken, if anybody waits that has none. Those who wait no more are
// passed over, and from then on no turn is prepared for them.
func (d *desk) engage() (next *seat) {
	d.mu.Lock()
	defer d.mu.Unlock()
	gone := 0
	for _, s := range d.seats {
		if s.engaged {
			continue
		}
		if s.waits() {
			s.engaged, next = true, s
			break
		}
		gone++
	}
	if gone > 0 {
		d.seats = slices.DeleteFunc(d.seats, func(s *seat) bool { return !s.engaged && !s.waits() })
		d.admit()
	}
	return next
}

// serve takes out the seat that a batch has come for, so that no other turn is prepared for it.
func (d *desk) serve(s *seat) {
	if s == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.serving++
	d.seats = without(d.seats, s)
	d.admit()
}

// served ends that. One who got nothing waits on, before the others.
func (d *desk) served(s *seat, got bool) {
	if s == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.serving--
	if s.engaged = false; !got && !s.parted {
		d.seats = slices.Insert(d.seats, 0, s)
		d.admit()
	}
}

// disengage lets another turn be taken for a seat. If this one has no answer, its taker need not wait for it.
func (d *desk) disengage(s *seat, unanswered bool) {
	if s == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s.engaged = false
	if unanswered {
		s.tell()
	}
}

// settled looks whether there is nothing to take, behind what has changed in the schedule.
func (d *desk) settled() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tellIfNothing()
}

// tellIfNothing runs with d.mu held. Slots whose turns have no answer are not waited for: that may last. A batch on its way
// to a seat is: its slot is out of hand already.
func (d *desk) tellIfNothing() {
	if len(d.asking) == 0 || d.serving > 0 {
		return
	}
	if busy, _ := d.schedule.Busy(); busy > d.stuck {
		return
	}
	for i, s := range d.asking {
		s.tell()
		d.asking[i] = nil
	}
	d.asking = d.asking[:0]
}

// stick notes that a turn has no answer, and why. While there are such slots, nobody knows whether there is something.
func (d *desk) stick(x *slot, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !x.stuck {
		x.stuck = true
		d.stuck++
	}
	if !d.ending {
		d.trouble = why
	}
}

// unstick notes that the turn of a slot has its answer.
func (d *desk) unstick(x *slot) {
	if !x.stuck {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	x.stuck = false
	if d.stuck--; d.stuck == 0 && !d.ending {
		d.trouble = nil
	}
}
