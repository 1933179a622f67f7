package rmqprom

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/message"
)

// Metrics counts what the clients of this process do. It is an observer for
// rmq.Config.Observers, and a collector that [New] has registered.
type Metrics struct {
	most int // topics

	topics atomic.Pointer[map[string]*topic] // not changed but replaced
	adding sync.Mutex

	handlers handlers
	watched  watched
}

var (
	_ message.Observer     = (*Metrics)(nil)
	_ prometheus.Collector = (*Metrics)(nil)
	_ consumer.Middleware  = (*Metrics)(nil).Middleware
)

// Observe counts an event.
func (m *Metrics) Observe(e *message.Event) {
	t := m.topic(e.Topic.Name)
	if e.Worker == "" {
		t.sends.count(e)
	} else {
		t.work.count(e)
	}
}

// topic has the figures of the topic of that name.
func (m *Metrics) topic(name string) *topic {
	if t := (*m.topics.Load())[name]; t != nil {
		return t
	}
	return m.add(name)
}

// add makes room for the figures of a topic that is met first.
func (m *Metrics) add(name string) *topic {
	m.adding.Lock()
	defer m.adding.Unlock()
	known := *m.topics.Load()
	if t := known[name]; t != nil {
		return t
	}
	if len(known) >= m.most { // and that one is not counted
		if t := known[otherName]; t != nil {
			return t
		}
		name = otherName
	}
	more := maps.Clone(known)
	more[name] = &topic{name: name}
	m.topics.Store(&more)
	return more[name]
}

// Describe is for the registry.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range ofMetrics {
		to <- d
	}
}

// Collect is for the registry.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, t := range *m.topics.Load() {
		t.sends.collect(t.name, to)
		t.work.collect(t.name, to)
	}
	m.watched.collect(func(name string) string { return m.topic(name).name }, to)
	if m.handlers.wanted.Load() {
		to <- gauge(handlersRunning, float64(m.handlers.running()))
	}
}

// topic has the figures of one topic. Senders and workers do not wait for each other.
type topic struct {
	name  string
	sends sends
	work  work
}
