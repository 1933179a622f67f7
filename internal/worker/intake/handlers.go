package intake

import (
	"sync"
	"time"

	"github.com/slotmq/go-rmq/internal/worker/flow"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// Handlers keeps as many handlers of a topic as are of use. One that is nil leaves them as they are.
type Handlers struct {
	HandlersConfig

	mu    sync.Mutex
	limit *flow.Limit
}

// HandlersConfig is what the handlers of a topic are kept by.
type HandlersConfig struct {
	Worker      string // is its id among those of the topic
	Least, Most int    // handlers
	Topic       Topic
	Slots       int             // of the topic, of all workers
	Lead        func(flow.Word) // tells the other workers
}

// Topic is one in the schedule: a [schedule.Topic].
type Topic interface {
	Demand() schedule.Demand
	Allow(by schedule.Limiter, places int)
}

// NewHandlers returns those of a topic, or nil where there is nothing to find out.
func NewHandlers(c HandlersConfig) *Handlers {
	if c.Least == c.Most {
		return nil
	}
	return &Handlers{HandlersConfig: c, limit: flow.New(c.Worker, c.Least, c.Most)}
}

// Follow takes into account what another worker says.
func (h *Handlers) Follow(w flow.Word) {
	if h == nil || h.Topic.Demand().Others { // as in Learn
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.limit.Places()
	h.allow(before, h.limit.Heard(w, time.Now()))
}

// Batch is what has come out of one.
type Batch struct {
	Lasted   time.Duration
	Busy     time.Duration // its handlers, added up
	Good     int           // messages that were handled
	Overload int           // messages that timed out, or were pushed back
	Pushed   bool          // one was pushed back
}

// Learn takes a finished batch into account.
func (h *Handlers) Learn(b Batch) {
	if h == nil {
		return
	}
	demand := h.Topic.Demand()
	if demand.Others && !b.Pushed { // what comes out shows what they allow
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.limit.Places()
	h.allow(before, h.limit.Finished(flow.Batch{
		End: time.Now(), Took: b.Lasted, Busy: b.Busy, Good: b.Good, Overload: b.Overload, Pushed: b.Pushed,
		Places: demand.Permits, Waiting: demand.Waiting, Full: demand.Full, Slots: demand.Slots,
	}))
	if w, ok := h.limit.Says(); ok && demand.Slots < h.Slots { // else it is alone
		h.Lead(w)
	}
}

// allow informs the schedule, if the number has changed.
func (h *Handlers) allow(before, now int) {
	if now != before {
		h.Topic.Allow(schedule.ByFlow, now)
	}
}
