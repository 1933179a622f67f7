package rmqotel

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/slotmq/go-rmq/rmq"
)

// watched are the clients with one MeterProvider whose workers are asked how many handlers may
// run: of that there are no events, since it changes all the time. They share one callback, because
// no two may observe the same topic.
type watched struct {
	allowed metric.Int64ObservableGauge
	mu      sync.Mutex
	clients []*rmq.Client
}

// watching are the clients of this process. A MeterProvider stays in it: a process has one or few.
var watching = struct {
	mu sync.Mutex
	by map[metric.MeterProvider]*watched
}{by: map[metric.MeterProvider]*watched{}}

// Watch has rmq.handlers.allowed show a client. rmq.New calls it for a client that has the
// Telemetry as an observer.
func (t *Telemetry) Watch(c *rmq.Client) {
	w, err := watchedWith(t.cfg.MeterProvider)
	if err != nil {
		otel.Handle(err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clients = append(w.clients, c)
}

// watchedWith are the clients with a MeterProvider. It must not lock them: it waits for the
// MeterProvider, which waits for observe.
func watchedWith(p metric.MeterProvider) (*watched, error) {
	if !reflect.ValueOf(p).Comparable() {
		return register(p)
	}
	watching.mu.Lock()
	defer watching.mu.Unlock()
	if w := watching.by[p]; w != nil {
		return w, nil
	}
	w, err := register(p)
	if err == nil {
		watching.by[p] = w
	}
	return w, err
}

// register has clients that are yet to come observed.
func register(p metric.MeterProvider) (w *watched, err error) {
	meter := meterOf(p)
	w = new(watched)
	w.allowed, err = meter.Int64ObservableGauge("rmq.handlers.allowed", metric.WithUnit("{handler}"),
		metric.WithDescription("Handlers of the topic that may run at once in this process: fewer than its Concurrency while something limits it."))
	if err == nil {
		_, err = meter.RegisterCallback(w.observe, w.allowed)
	}
	return w, err
}

// observe adds up what clients have. It is called when metrics are collected.
func (w *watched) observe(_ context.Context, o metric.Observer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	sums := map[string]int{}
	w.clients = slices.DeleteFunc(w.clients, func(c *rmq.Client) bool {
		all := c.AllHandlers()
		for topic, n := range all {
			sums[topic] += n
		}
		return all == nil // it is closed
	})
	for topic, n := range sums {
		o.ObserveInt64(w.allowed, int64(n), metric.WithAttributes(topicKey.String(topic)))
	}
	return nil
}
