package poll

import (
	"slices"
	"sync"
)

// taker is one call of Take. It waits in the queues of several topics, and gets one batch.
type taker struct {
	Take
	waits []*waiter     // where it waits
	got   chan struct{} // closed when it has its batch

	mu   sync.Mutex
	over bool  // it has its batch, or does not wait any more
	held *Held // its batch
}

func newTaker(t Take) *taker { return &taker{Take: t, got: make(chan struct{})} }

// waiting reports whether a batch could be given to the taker.
func (t *taker) waiting() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.over
}

// give gives a batch to the taker. It is false if that has one, or does not wait any more.
func (t *taker) give(h *Held) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.over, t.held = true, h
	close(t.got)
	return true
}

// leave ends the wait in all queues. It returns the batch that came before that, if any; and why nobody knows whether there is
// something, if so.
func (t *taker) leave() (h *Held, trouble error) {
	for _, w := range t.waits {
		if why := w.leave(); trouble == nil {
			trouble = why
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	return t.held, trouble
}

// waiter is a taker in one queue, whose lock guards its fields.
type waiter struct {
	*taker
	queue    *queue
	served   bool          // a turn is taken for it
	nothing  chan struct{} // closed when all slots were looked at, and have nothing for it
	notified bool          // that is closed
	left     bool          // its taker does not wait here any more
}

// notify has the taker go on: there is nothing for it at the moment.
func (w *waiter) notify() {
	if !w.notified {
		w.notified = true
		close(w.nothing)
	}
}

// release lets another turn be taken for a waiter. If this one has no answer, its taker need not wait for it.
func (w *waiter) release(unanswered bool) {
	if w == nil {
		return
	}
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	w.served = false
	if unanswered {
		w.notify()
	}
}

// came takes out the waiter that a batch has come for, so that no other turn is prepared for it.
func (w *waiter) came() {
	if w == nil {
		return
	}
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.coming++
	q.waiters = without(q.waiters, w)
	q.admitLocked()
}

// delivered ends that. One who got nothing waits on, before the others.
func (w *waiter) delivered(got bool) {
	if w == nil {
		return
	}
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.coming--
	if w.served = false; !got && !w.left {
		q.waiters = slices.Insert(q.waiters, 0, w)
		q.admitLocked()
	}
}

// leave ends a wait, and returns why nobody knows whether there is something, if so.
func (w *waiter) leave() error {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	w.left, q.waiters = true, without(q.waiters, w)
	if !w.notified {
		q.asking = without(q.asking, w)
	}
	if len(q.waiters) == 0 && !q.ended {
		q.idle.Reset(q.idleAfter)
	}
	q.admitLocked()
	return q.trouble
}

func without(all []*waiter, w *waiter) []*waiter {
	if i := slices.Index(all, w); i >= 0 {
		return slices.Delete(all, i, i+1)
	}
	return all
}
