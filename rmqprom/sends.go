package rmqprom

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slotmq/go-rmq/message"
)

// sends are the figures of what was sent to a topic.
type sends struct {
	mu         sync.Mutex
	any        bool
	took       [errorTypes]histogram // of Redis, once for each message
	merged     uint64
	duplicates uint64
}

// count counts an event of a producer.
func (s *sends) count(e *message.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.any = true
	s.merged += uint64(e.Merged)
	var fine uint64
	for i := range e.Items {
		switch item := &e.Items[i]; item.What {
		case message.Sent, message.Merged:
			fine++
		case message.Duplicate:
			fine++
			s.duplicates++
		default:
			s.took[errorOf(item)].add(&durations, int64(e.Took), 1)
		}
	}
	s.took[none].add(&durations, int64(e.Took), fine)
}

func (s *sends) collect(topic string, to chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.any {
		return
	}
	for failure := range s.took {
		h := &s.took[failure]
		if n := h.count(); n > 0 || failure == none {
			to <- counter(sentMessages, n, system, send, topic, errorNames[failure])
			to <- h.metric(operationDuration, &durations, system, send, topic, errorNames[failure], send)
		}
	}
	to <- counter(merged, s.merged, topic)
	to <- counter(duplicates, s.duplicates, topic)
}
