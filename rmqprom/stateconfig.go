package rmqprom

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// The defaults of a StateConfig.
const (
	defaultEvery    = 5 * time.Second
	defaultTimeout  = 4 * time.Second
	defaultMaxSlots = 4096
)

// StateConfig says what a State looks at. Only Redis is required.
type StateConfig struct {
	// Redis to look at: one server, Sentinel or Cluster. You close it. Its user needs no
	// more rights than one who only looks: see package inspector.
	Redis redis.UniversalClient

	// Namespace and Slots are those of the workers, as in inspector.Config.
	Namespace string
	Slots     slots.Sharing

	// Registerer gets the metrics. Defaults to prometheus.DefaultRegisterer.
	Registerer prometheus.Registerer

	// Topics to look at: names, without the namespace, or patterns such as "mail-*", as
	// in path.Match. Defaults to all topics of the namespace.
	Topics []string

	// Every is how often Redis is asked at the most, however often State is scraped.
	// Defaults to 5 s.
	Every time.Duration

	// Timeout is how long a scrape waits for Redis. What has not come by then is as it was
	// before. Defaults to 4 s: a master of a Cluster that hangs is given up after 2 s, and
	// Prometheus gives up after 10 s.
	Timeout time.Duration

	// MaxSlots is how many slots are looked at each time, and one topic at least. If there
	// are more, the next scrape goes on where this one has ended, so that the figures of a
	// topic are some scrapes old. A slot costs Redis about 13 µs. Defaults to 4096, 55 ms.
	MaxSlots int
}

// NewState returns a State that is registered. It checks its arguments and does no I/O.
func NewState(cfg StateConfig) (*State, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("rmqprom: %w", err)
	}
	i, err := inspector.New(cfg.Redis, inspector.Config{Namespace: cfg.Namespace, Slots: cfg.Slots})
	if err != nil {
		return nil, fmt.Errorf("rmqprom: %w", err)
	}
	s := &State{cfg: cfg, inspector: i, topics: map[string]figure{}}
	if err := register(cfg.Registerer, s); err != nil {
		return nil, err
	}
	return s, nil
}

func (c StateConfig) withDefaults() StateConfig {
	if c.Every == 0 {
		c.Every = defaultEvery
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.MaxSlots == 0 {
		c.MaxSlots = defaultMaxSlots
	}
	return c
}

func (c StateConfig) validate() error {
	refuse := func(field string, value any, limit string) error {
		return &message.InvalidError{Field: "StateConfig." + field, Value: fmt.Sprint(value), Limit: limit}
	}
	switch {
	case c.Every < 0:
		return refuse("Every", c.Every, "more than 0, or 0 for 5 s")
	case c.Timeout < 0:
		return refuse("Timeout", c.Timeout, "more than 0, or 0 for 4 s")
	case c.MaxSlots < 0:
		return refuse("MaxSlots", c.MaxSlots, "1 or more, or 0 for 4096")
	}
	for _, pattern := range c.Topics {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return refuse("Topics", fmt.Sprintf("%q", pattern), "names, or patterns as in path.Match")
		}
	}
	return nil
}

// patterns reports whether some of the topics are no names.
func (c StateConfig) patterns() bool {
	return len(c.Topics) == 0 || strings.ContainsAny(strings.Join(c.Topics, ""), `*?[\`)
}

// wants reports whether a topic is to be looked at.
func (c StateConfig) wants(name string) bool {
	for _, pattern := range c.Topics {
		if found, _ := path.Match(pattern, name); found {
			return true
		}
	}
	return len(c.Topics) == 0
}
