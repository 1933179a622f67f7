package fleet

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// Term is a time during which this worker has one id. Where the slots are shared
// out in Redis it lasts as long as the worker. Where ZooKeeper does it, it is one
// session: when that is lost the others may prove the id dead, and the next term
// has another session and another id. Its Claim keeps its batches.
type Term struct {
	Claim
	id   string
	Log  *zap.Logger // names the id
	life *lifetime.Lifetime

	handlers atomic.Pointer[handlers]

	mu     sync.Mutex
	shares map[string][]int // slots assigned, by topic
}

// handlers are those that are begun in a term between two interruptions.
type handlers struct {
	context.Context
	cancel context.CancelCauseFunc
}

// Claim is what keeps the batches of a term: a lease for each of them in Redis, or one
// session with ZooKeeper for all.
type Claim interface {
	// ID returns the id for a slot's turns. Replacement is how many slots stood in its place
	// before.
	ID(replacement int) string

	// Lease of a batch; 0: it has none, the session takes its place.
	Lease() time.Duration

	// trusted reports whether a handler may be started, beside what the batch's lease says.
	trusted(now time.Time) bool

	// Dead reports whether a holder is proven dead. It does not block.
	Dead(holder string) bool

	// Suspect looks into the holder of a slot that has been busy with it for a while. If
	// it is dead, the slot's next turn says so.
	Suspect(x *schedule.Slot, holder string, busy time.Duration)

	// Overtaken notes that a batch was taken over before it was finished.
	Overtaken()

	// Hung leaves a slot to a handler that ignores its context.
	Hung(x *schedule.Slot)
}

// Worker is the id of the worker in this term.
func (t *Term) Worker() string { return t.id }

// MayStart reports whether a handler may be started. It is asked immediately before
// each.
func (t *Term) MayStart(now time.Time) bool {
	return t.handlers.Load().Err() == nil && t.trusted(now)
}

// Handlers is the context of the handlers that are begun now.
func (t *Term) Handlers() context.Context { return t.handlers.Load() }

// end cancels all handlers. None may be started until goOn.
func (t *Term) end(why error) { t.handlers.Load().cancel(why) }

// goOn lets handlers be started again after an end that was not final.
func (t *Term) goOn() {
	h := &handlers{}
	h.Context, h.cancel = context.WithCancelCause(t.life.Handlers)
	t.handlers.Store(h)
}

// terms knows under which id the worker works, and at which slots.
type terms struct {
	life     *lifetime.Lifetime
	schedule *schedule.Schedule
	topics   []*Topic
	gained   func(t *schedule.Topic)
	present  atomic.Pointer[Term]
}

// open makes a term, which begins later.
func (w *terms) open(log *zap.Logger) *Term {
	t := &Term{Log: log, life: w.life, shares: map[string][]int{}}
	t.goOn()
	return t
}

// begin makes t the worker's term.
func (w *terms) begin(t *Term) {
	w.schedule.Terms.Begin(t)
	w.present.Store(t)
	for _, topic := range w.topics {
		w.workAt(topic, t)
	}
}

// assign notes which slots of a topic are the worker's in a term, and begins to
// work there. It may be called before the term begins.
func (w *terms) assign(t *Topic, in *Term, share []int) {
	in.mu.Lock()
	in.shares[t.Name] = share
	in.mu.Unlock()
	if w.present.Load() == in {
		w.workAt(t, in)
	}
}

// workAt makes the worker work at the slots of a topic that are its own, and at
// no others: at none while the topic is refused.
func (w *terms) workAt(t *Topic, in *Term) {
	in.mu.Lock()
	defer in.mu.Unlock()
	share, known := in.shares[t.Name]
	if !known {
		return
	}
	if t.refused.Load() { // asked while others wait, or they would work at it after all
		share = nil
	}
	gained, lost := t.scheduled.Assign(in, share)
	if gained > 0 {
		w.gained(t.scheduled)
	}
	if gained+lost > 0 {
		in.Log.Info("slots were shared out", zap.String("topic", t.Name),
			zap.Int("slots", len(share)), zap.Int("gained", gained), zap.Int("given_away", lost))
	}
}
