package keeper

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"
)

// holdings are the slots that a worker has, for people to see.
type holdings struct {
	mu      sync.Mutex
	topics  map[string][]int
	since   time.Time
	changed chan struct{}
	quiet   func() time.Duration // see Worker; nil: it does not say
}

func (h *holdings) init(quiet func() time.Duration) {
	h.topics, h.since, h.changed, h.quiet = map[string][]int{}, time.Now(), make(chan struct{}, 1), quiet
}

// encode is the contents of owned/{id}.
func (h *holdings) encode() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := ownedNode{Topics: map[string]string{}, Since: h.since.UnixMilli()}
	for topic, held := range h.topics {
		n.Topics[topic] = formatSlots(held)
	}
	if h.quiet != nil {
		quiet := h.quiet().Milliseconds()
		n.Quiet = &quiet
	}
	data, _ := json.Marshal(n) // strings and numbers
	return data
}

// Show notes the slots of a topic that the worker really has, for people to see.
func (m *Member) Show(topic string, slots []int) {
	h := &m.holdings
	h.mu.Lock()
	defer h.mu.Unlock()
	held := slices.Clone(slots)
	slices.Sort(held)
	if had, known := h.topics[topic]; known && slices.Equal(had, held) {
		return
	}
	h.topics[topic], h.since = held, time.Now()
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// debounce keeps a rolling deploy from being a write for each slot that moves.
const debounce = time.Second

// publishHoldings writes what the worker holds within a second after it has changed, for
// people to see.
func (m *Member) publishHoldings() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	due, warned := false, false
	for {
		select {
		case <-m.holdings.changed:
			if !due { // otherwise a change each second would put it off for ever
				due = true
				timer.Reset(debounce)
			}
		case <-timer.C:
			due = false
			switch err := m.write(m.ctx); {
			case err == nil || m.ctx.Err() != nil:
			case errors.Is(err, zk.ErrNoAuth):
				if !warned {
					m.log.Warn("people cannot see what the worker holds: its node may not be written", zap.Error(m.keeper.cfg.explain(err)))
				}
				warned = true
			default:
				m.log.Debug("what the worker holds is not written down yet", zap.Error(err))
				due = true
				timer.Reset(m.session.answerTimeout())
			}
		case <-m.ctx.Done():
			return
		}
	}
}
