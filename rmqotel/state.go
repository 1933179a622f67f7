package rmqotel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/slots"
)

// StateConfig says what is looked at. Only Redis is required.
type StateConfig struct {
	// Redis is the server, or the Cluster, that holds the topics.
	Redis redis.UniversalClient

	// Namespace as in rmq.Config. Defaults to none.
	Namespace string

	// Slots is that of the workers, if ZooKeeper shares the slots: without it, the number of
	// workers of such topics is not known. Defaults to nil.
	Slots slots.Sharing

	// Topics by their names, without the namespace. Defaults to all.
	Topics []string

	// MeterProvider makes the meter. Defaults to the global one.
	MeterProvider metric.MeterProvider
}

// State measures what is stored in Redis, each time metrics are collected: rmq.messages,
// rmq.messages.due, rmq.overdue, rmq.slots.paused, rmq.slots.unread and rmq.workers. To look
// costs Redis some reads for each slot, and the figures are the same wherever you ask: have it
// in one process. stop ends it.
//
// rmq.overdue is how long the message that is due longest has been due. A priority says
// nothing about when a message was sent: in priority topics it is about retries only.
func State(cfg StateConfig) (stop func() error, err error) {
	if cfg.MeterProvider == nil {
		cfg.MeterProvider = otel.GetMeterProvider()
	}
	look, err := inspector.New(cfg.Redis, inspector.Config{Namespace: cfg.Namespace, Slots: cfg.Slots})
	if err != nil {
		return nil, fmt.Errorf("rmqotel: %w", err)
	}
	meter := meterOf(cfg.MeterProvider)
	var errs []error
	gauge := func(name, unit, what string) metric.Int64ObservableGauge {
		g, err := meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs = append(errs, err)
		return g
	}
	s := &state{
		cfg: cfg, look: look,
		messages: gauge("rmq.messages", "{message}", "Messages in Redis: waiting, in_flight, retrying, dead."),
		due:      gauge("rmq.messages.due", "{message}", "Messages, waiting or retrying, that could be handled now."),
		paused:   gauge("rmq.slots.paused", "{slot}", "Slots that are paused."),
		unread:   gauge("rmq.slots.unread", "{slot}", "Slots that could not be looked at: the other figures of the topic are without them."),
		workers:  gauge("rmq.workers", "{worker}", "Workers that share the topic."),
	}
	s.overdue, err = meter.Float64ObservableGauge("rmq.overdue", metric.WithUnit("s"),
		metric.WithDescription("How long the message that is due longest has been due. In a priority topic, of retries only."))
	registration, err2 := meter.RegisterCallback(s.observe, s.messages, s.due, s.overdue, s.paused, s.unread, s.workers)
	if err := errors.Join(append(errs, err, err2)...); err != nil {
		return nil, fmt.Errorf("rmqotel: %w", err)
	}
	return registration.Unregister, nil
}

// state looks at topics.
type state struct {
	cfg                                    StateConfig
	look                                   *inspector.Inspector
	messages, due, paused, unread, workers metric.Int64ObservableGauge
	overdue                                metric.Float64ObservableGauge
}

// observe is called when metrics are collected. What cannot be looked at does not keep the
// rest from being shown.
func (s *state) observe(ctx context.Context, o metric.Observer) error {
	topics, err := s.look.Topics(ctx)
	errs := []error{err}
	for _, t := range topics {
		if len(s.cfg.Topics) > 0 && !slices.Contains(s.cfg.Topics, t.Name) {
			continue
		}
		stats, err := s.look.Stats(ctx, t.Name)
		errs = append(errs, err)
		var some *inspector.PartialError
		if err == nil || errors.As(err, &some) {
			s.show(o, stats)
		}
	}
	return errors.Join(errs...)
}

func (s *state) show(o metric.Observer, stats inspector.Stats) {
	topic := topicKey.String(protocol.Qualify(s.cfg.Namespace, stats.Topic.Name))
	of := metric.WithAttributes(topic)
	for state, n := range map[string]int{"waiting": stats.Waiting, "in_flight": stats.InFlight, "retrying": stats.Retrying, "dead": stats.Dead} {
		o.ObserveInt64(s.messages, int64(n), metric.WithAttributes(topic, stateKey.String(state)))
	}
	o.ObserveInt64(s.due, int64(stats.Due), of)
	o.ObserveFloat64(s.overdue, stats.Overdue.Seconds(), of)
	o.ObserveInt64(s.paused, int64(stats.Paused), of)
	o.ObserveInt64(s.unread, int64(stats.Topic.Slots-stats.Read), of)
	if stats.Workers >= 0 { // known
		o.ObserveInt64(s.workers, int64(stats.Workers), of)
	}
}
