package rmqprom

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slotmq/go-rmq/message"
)

// defaultTopics is the default of Config.MaxTopics.
const defaultTopics = 1000

// Config of the metrics of a process. The zero value is ready to use.
type Config struct {
	// Registerer gets the metrics. To give all of them a label more, pass
	// prometheus.WrapRegistererWith(…). Defaults to prometheus.DefaultRegisterer, which
	// promhttp.Handler serves.
	Registerer prometheus.Registerer

	// MaxTopics is how many topics have figures of their own: the first ones that occur.
	// The others are counted together, as topic _OTHER, so that a program that takes
	// names of topics from outside cannot flood Prometheus. Defaults to 1000.
	MaxTopics int
}

// New returns metrics that are registered. One is enough for all clients of a process: a
// second one with the same Registerer is refused.
func New(cfg Config) (*Metrics, error) {
	if cfg.MaxTopics < 0 {
		return nil, fmt.Errorf("rmqprom: %w", &message.InvalidError{Field: "Config.MaxTopics", Value: fmt.Sprint(cfg.MaxTopics), Limit: "at least 1, or 0 for 1000"})
	}
	if cfg.MaxTopics == 0 {
		cfg.MaxTopics = defaultTopics
	}
	m := &Metrics{most: cfg.MaxTopics}
	m.topics.Store(&map[string]*topic{})
	if err := register(cfg.Registerer, m); err != nil {
		return nil, err
	}
	return m, nil
}

// register registers c.
func register(r prometheus.Registerer, c prometheus.Collector) error {
	if r == nil {
		r = prometheus.DefaultRegisterer
	}
	if err := r.Register(c); err != nil {
		return fmt.Errorf("rmqprom: %w", err)
	}
	return nil
}
