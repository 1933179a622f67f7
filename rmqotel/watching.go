package rmqotel

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/slotmq/go-rmq/rmq"
)

// Watch has rmq.handlers.allowed show the client. rmq.New calls it for a client that has the
// Telemetry as an observer.
func (t *Telemetry) Watch(c *rmq.Client) {
	_, err := meterOf(t.cfg.MeterProvider).Int64ObservableGauge("rmq.handlers.allowed", metric.WithUnit("{handler}"),
		metric.WithDescription("Handlers of the topic that may run at once in this process: fewer than its Concurrency while something limits it."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			for topic, n := range c.AllHandlers() {
				o.Observe(int64(n), t.topic(topic))
			}
			return nil
		}))
	if err != nil {
		otel.Handle(err)
	}
}
