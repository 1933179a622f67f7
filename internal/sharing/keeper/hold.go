package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// holdings are the slots that a worker really has, for people to see.
type holdings struct {
	quiet func() time.Duration // see Worker; nil: it does not say

	mu      sync.Mutex
	topics  map[string][]int
	since   time.Time
	changed chan struct{}
}

func newHoldings(quiet func() time.Duration) *holdings {
	return &holdings{quiet: quiet, topics: map[string][]int{}, since: time.Now(), changed: make(chan struct{}, 1)}
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

// show notes the slots of a topic.
func (h *holdings) show(topic string, slots []int) {
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

// debounce: without it, a rolling deploy would write once for each slot that moves.
const debounce = time.Second

// publisher writes what the worker holds within a second after it has changed, for
// people to see.
type publisher struct {
	holdings *holdings
	pulse    *session.Pulse
	again    func() time.Duration // how long it waits after an error
	explain  func(error) error
	log      *zap.Logger
}

func (p *publisher) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	due, warned := false, false
	for {
		select {
		case <-p.holdings.changed:
			if !due { // otherwise a change each second would put it off for ever
				due = true
				timer.Reset(debounce)
			}
		case <-timer.C:
			due = false
			switch _, err := p.pulse.Write(ctx); {
			case err == nil || ctx.Err() != nil:
			case errors.Is(err, zk.ErrNoAuth):
				if !warned {
					p.log.Warn("people cannot see what the worker holds: its node may not be written", zap.Error(p.explain(err)))
				}
				warned = true
			default:
				p.log.Debug("what the worker holds is not written down yet", zap.Error(err))
				due = true
				timer.Reset(p.again())
			}
		case <-ctx.Done():
			return
		}
	}
}
