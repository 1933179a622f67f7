package consumer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/schedule"
)

// term is a time during which this worker has one id. Where the slots are shared
// out in Redis it lasts as long as the worker. Where ZooKeeper does it, it is one
// session: when that is lost the others may prove the id dead, and the next term
// has another session and another id.
type term struct {
	hold
	id       string
	log      *zap.Logger             // names the id
	handlers context.Context         // of all handlers begun in it
	end      context.CancelCauseFunc // of them

	mu     sync.Mutex
	shares map[string][]int // slots assigned, by topic
}

// hold is what keeps the batches of a term: a lease for each of them in Redis, or one
// session with ZooKeeper for all.
type hold interface {
	// ID is what a slot takes its turns under that stands in the place of so many others.
	ID(replacement int) string

	// lease of a batch; 0: it has none, the session takes its place.
	lease() time.Duration

	// trusted reports whether a handler may be started, beside what the batch's lease says.
	trusted(now time.Time) bool

	// dead reports whether a holder is proven dead. It does not block.
	dead(holder string) bool

	// suspect looks into the holder of a slot that has been busy with it for a while. If
	// it is dead, the slot's next turn says so.
	suspect(x *schedule.Slot, holder string, busy time.Duration)

	// overtaken notes that a batch was taken over before it was finished.
	overtaken()

	// hung leaves a slot to a handler that ignores its context.
	hung(x *schedule.Slot)
}

// mayStart reports whether a handler may be started. It is asked immediately before
// each.
func (t *term) mayStart(now time.Time) bool {
	return t.handlers.Err() == nil && t.trusted(now)
}

// terms is under which id the worker works, and at which slots.
type terms struct {
	shift    *shift
	schedule *schedule.Schedule
	topics   []*topic
	looks    *timetable // when each topic's slots are looked at
	present  atomic.Pointer[term]
}

// open makes a term, which begins later.
func (w *terms) open(log *zap.Logger) *term {
	t := &term{log: log, shares: map[string][]int{}}
	t.handlers, t.end = context.WithCancelCause(w.shift.handlers)
	return t
}

// begin makes t the worker's term.
func (w *terms) begin(t *term) {
	w.schedule.Begin(t)
	w.present.Store(t)
	for _, topic := range w.topics {
		w.workAt(topic, t)
	}
}

// assign notes which slots of a topic are the worker's in a term, and begins to
// work there. It may be called before the term begins.
func (w *terms) assign(t *topic, in *term, share []int) {
	in.mu.Lock()
	in.shares[t.Name] = share
	in.mu.Unlock()
	if w.present.Load() == in {
		w.workAt(t, in)
	}
}

// workAt makes the worker work at the slots of a topic that are its own, and at
// no others: at none while the topic is refused.
func (w *terms) workAt(t *topic, in *term) {
	in.mu.Lock()
	defer in.mu.Unlock()
	share, known := in.shares[t.Name]
	if !known {
		return
	}
	if t.refused.Load() { // asked while others wait, or they would work at it after all
		share = nil
	}
	gained, lost := w.schedule.Assign(t.scheduled, in, share)
	if gained > 0 {
		w.looks.hurry(t)
	}
	if gained+lost > 0 {
		in.log.Info("slots were shared out", zap.String("topic", t.Name),
			zap.Int("slots", len(share)), zap.Int("gained", gained), zap.Int("given_away", lost))
	}
}

// logOf names a slot, and the id it is worked at under, in every line. It is for whatever
// has the slot in hand.
func logOf(x *schedule.Slot) *zap.Logger {
	return x.Term().(*term).log.With(zap.String("topic", x.Topic().Name), zap.Int("slot", x.Index))
}
