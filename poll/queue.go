package poll

import (
	"slices"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// queue is those who wait for a batch of one topic, in the order in which they came. It has the schedule take as many turns as
// wait, and lets those go on who do not wait any longer when there is nothing.
type queue struct {
	schedule  *schedule.Schedule
	scheduled *schedule.Topic
	out       *outstanding

	mu        sync.Mutex
	waiters   []*waiter
	asking    []*waiter // those of them that are not notified yet that there is nothing
	coming    int       // batches that are on their way to a waiter
	blocked   int       // slots whose turns have no answer
	trouble   error     // why nobody knows whether there is something
	idle      *time.Timer
	idleAfter time.Duration
	ended     bool
	abandoned bool // Close waits no longer
}

// join has a taker wait. It returns nil if the queue has ended.
func (q *queue) join(t *taker) (*waiter, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return nil, nil
	}
	if len(q.waiters) >= mostWaiting {
		return nil, ErrTooMany
	}
	w := &waiter{taker: t, queue: q, nothing: make(chan struct{})}
	q.waiters, q.asking = append(q.waiters, w), append(q.asking, w)
	q.admitLocked()
	q.notifyLocked()
	return w, nil
}

// serve returns the waiter for whom a turn is to be taken, if anybody waits that has none. Those who wait no more are
// passed over, and from then on no turn is prepared for them.
func (q *queue) serve() (next *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	gone := 0
	for _, w := range q.waiters {
		if w.served {
			continue
		}
		if w.waiting() {
			w.served, next = true, w
			break
		}
		gone++
	}
	if gone > 0 {
		q.waiters = slices.DeleteFunc(q.waiters, func(w *waiter) bool { return !w.served && !w.waiting() })
		q.admitLocked()
	}
	return next
}

// length is how many wait.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiters)
}

// admit has as many turns taken as takers wait, and a limit allows.
func (q *queue) admit() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.admitLocked()
}

func (q *queue) admitLocked() {
	q.scheduled.Allow(schedule.ByFlow, q.out.room(len(q.waiters)))
}

// settle looks whether there is nothing to take, behind what has changed in the schedule.
func (q *queue) settle() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.notifyLocked()
}

// notifyLocked notifies those who ask if there is nothing. Slots whose turns have no answer are not waited for: that may last. A
// batch on its way to a waiter is: its slot is out of hand already.
func (q *queue) notifyLocked() {
	if len(q.asking) == 0 || q.coming > 0 {
		return
	}
	if busy, _ := q.schedule.Busy(); busy > q.blocked {
		return
	}
	for i, w := range q.asking {
		w.notify()
		q.asking[i] = nil
	}
	q.asking = q.asking[:0]
}

// block notes that a turn has no answer, and why. While there are such slots, nobody knows whether there is something.
func (q *queue) block(x *slot, why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !x.blocked {
		x.blocked = true
		q.blocked++
	}
	if !q.ended {
		q.trouble = why
	}
}

// unblock notes that the turn of a slot has its answer.
func (q *queue) unblock(x *slot) {
	if !x.blocked {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	x.blocked = false
	if q.blocked--; q.blocked == 0 && !q.ended {
		q.trouble = nil
	}
}

// begin has closeIfIdle called when nobody has waited for a while.
func (q *queue) begin(idleAfter time.Duration, closeIfIdle func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.idleAfter, q.idle = idleAfter, time.AfterFunc(idleAfter, closeIfIdle)
}

// endIfIdle ends the queue if nobody waits, and nothing is under way. While a limit counts batches that are out, it stays: the
// next one would not know of them.
func (q *queue) endIfIdle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if busy, _ := q.schedule.Busy(); len(q.waiters) > 0 || q.coming > 0 || busy > 0 || q.out.counts() {
		q.idle.Reset(q.idleAfter)
		return false
	}
	return q.endLocked(nil)
}

// end ends the queue, whoever waits. It is false if it has ended already.
func (q *queue) end(why error) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.endLocked(why)
}

func (q *queue) endLocked(why error) bool {
	if q.ended {
		return false
	}
	q.ended, q.trouble = true, why
	q.idle.Stop()
	q.out.stop()
	for _, w := range q.asking {
		w.notify()
	}
	q.asking = nil
	if q.abandoned {
		q.schedule.Close()
	}
	return true
}

// abandon has the turns of a queue that ends not waited for any more: they may have no answer.
func (q *queue) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.abandoned = true
	if q.ended {
		q.schedule.Close()
	}
}
