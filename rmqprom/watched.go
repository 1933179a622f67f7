package rmqprom

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slotmq/go-rmq/rmq"
)

// watched are the clients whose workers are asked how many handlers may run: of that there are no
// events, since it changes all the time.
type watched struct {
	mu      sync.Mutex
	clients []*rmq.Client
}

// Watch has rmq_handlers_allowed show a client. rmq.New calls it for a client that has the
// Metrics as an observer.
func (m *Metrics) Watch(c *rmq.Client) {
	m.watched.mu.Lock()
	defer m.watched.mu.Unlock()
	m.watched.clients = append(m.watched.clients, c)
}

// collect adds up what clients have, by the name under which a topic is counted.
func (w *watched) collect(under func(topic string) string, to chan<- prometheus.Metric) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sums := map[string]int{}
	w.clients = slices.DeleteFunc(w.clients, func(c *rmq.Client) bool {
		all := c.AllHandlers()
		for topic, n := range all {
			sums[under(topic)] += n
		}
		return all == nil // it is closed
	})
	for topic, n := range sums {
		to <- gauge(allowed, float64(n), topic)
	}
}
