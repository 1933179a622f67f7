package rmqprom

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
)

// State shows what is stored in Redis. It is a collector that [NewState] has registered.
// It asks Redis during a scrape only, and has nothing to close.
type State struct {
	cfg       StateConfig
	inspector *inspector.Inspector

	mu     sync.Mutex
	look   *look             // the last one; it may be under way
	round  []string          // topics that this round has not come to
	topics map[string]figure // what was seen last, by name
	heard  time.Time         // when Redis has answered last
	errors uint64
}

var _ prometheus.Collector = (*State)(nil)

// Describe is for the registry.
func (s *State) Describe(to chan<- *prometheus.Desc) {
	for _, d := range ofState {
		to <- d
	}
}

// forget is after how long without any answer of Redis the figures are not shown any more:
// old ones would look as if nothing had happened.
const forget = time.Minute

// Collect is for the registry. It never fails: see rmq_state_errors_total.
func (s *State) Collect(to chan<- prometheus.Metric) {
	s.refresh()
	s.mu.Lock()
	defer s.mu.Unlock()
	to <- counter(stateErrors, s.errors)
	if time.Since(s.heard) > forget {
		return
	}
	oldest := time.Now()
	for name, f := range s.topics {
		f.collect(protocol.Qualify(s.cfg.Namespace, name), to)
		if f.at.Before(oldest) {
			oldest = f.at
		}
	}
	to <- gauge(stateAge, time.Since(oldest).Seconds())
}

// figure is what was seen of a topic.
type figure struct {
	inspector.Stats
	at time.Time
}

func (f figure) collect(topic string, to chan<- prometheus.Metric) {
	for state, n := range map[string]int{"waiting": f.Waiting, "in_flight": f.InFlight, "retrying": f.Retrying, "dead": f.Dead} {
		to <- gauge(messages, float64(n), topic, state)
	}
	to <- gauge(due, float64(f.Due), topic)
	to <- gauge(overdue, f.Overdue.Seconds(), topic)
	to <- gauge(paused, float64(f.Paused), topic)
	to <- gauge(unread, float64(f.Topic.Slots-f.Read), topic)
	if f.Workers >= 0 { // known
		to <- gauge(workers, float64(f.Workers), topic)
	}
}
