package consumer

import "go.uber.org/zap"

// noSuchPlaces says where a person has asked for more handlers than can run: a slot has one at a time, unless its topic is
// Parallel.
func noSuchPlaces(cfg Config, topics []*topic) {
	const text = "more handlers are asked for than there are slots"
	all := 0
	for _, t := range topics {
		if t.opts.Parallel {
			all = cfg.Concurrency
			continue
		}
		all += t.Slots
		if t.opts.Concurrency > t.Slots && t.opts.Concurrency != cfg.Concurrency {
			cfg.Logger.Warn(text, zap.String("topic", t.Name), zap.Int("Concurrency", t.opts.Concurrency), zap.Int("slots", t.Slots))
		}
	}
	if cfg.Concurrency > all && cfg.Concurrency != usualConcurrency {
		cfg.Logger.Warn(text, zap.Int("Concurrency", cfg.Concurrency), zap.Int("slots of all topics", all))
	}
}
