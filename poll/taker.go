package poll

import "sync"

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
