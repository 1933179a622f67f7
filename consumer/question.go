package consumer

import (
	"time"

	"github.com/slotmq/go-rmq/luascripts"
)

// Questions about a batch. Redis may forget its last writes: it is restarted from an
// older snapshot, or a replica that lags takes its place. Then a slot that has moved
// from worker a to b goes back to "a's batch in flight". b is told BUSY, and a, which
// lives and has long reported that batch, does not look at a slot that is not its own.
//
// So whoever stays busy with a holder asks it, by a wake-up that names slot and
// holder. A holder that carries nothing of the slot takes its turn there: it is told
// the batch again, hands it back as not begun, and leaves. One that does carry
// something reports it in the end, and needs no question.

// A slot that has been busy for askAfter asks its holder, and again every askEvery: a
// question may get lost. Nearly always the holder is about to leave.
const (
	askAfter = 300 * time.Millisecond
	askEvery = time.Second
)

// question asks the holder of a slot whether it carries the batch in flight there.
func (c *Consumer) question(x *slot, holder string, now time.Time) {
	if now.Sub(x.busy) < askAfter || now.Sub(x.asked) < askEvery {
		return
	}
	x.asked = now
	c.announcing.Go(func() {
		c.announce(x.topic, x.turn.Keys.Store, luascripts.AppendQuestion(nil, x.index, holder))
	})
}

// asked has a holder take its turn at a slot of which it carries nothing.
func (s *schedule) asked(t *topic, index int, holder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if index < 0 || index >= len(t.slots) || t.term == nil { // between two terms the slots change their ids
		return
	}
	if s.closed || s.stopping && s.active == 0 { // all is left, and turners may be gone
		return
	}
	for _, y := range t.replaced {
		if y.index == index && y.worker == holder {
			return
		}
	}
	if x := t.slots[index]; x.worker == holder {
		if x.state == idle { // also one that is not the worker's any more: its turn leaves
			s.ready(x)
		}
	} else if y := s.former(x, holder); y != nil {
		y.leaving.Store(true)
		t.replaced = append(t.replaced, y)
		s.ready(y)
	}
}

// former makes a slot that takes its turns under an id this worker had before, if it
// may still have it: that of an earlier incarnation, or of a term whose session lasts
// until a handler has returned.
func (s *schedule) former(x *slot, holder string) *slot {
	for i := range x.incarnation {
		if y := x.topic.newSlot(x.index, i); y.worker == holder {
			return y
		}
	}
	for _, t := range s.topics {
		for _, other := range t.replaced {
			if other.worker == holder && other.term.member != nil {
				y := x.topic.newSlot(x.index, x.incarnation)
				y.serve(other.term)
				return y
			}
		}
	}
	return nil
}
