package rmqotel

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.43.0/messagingconv"

	"github.com/slotmq/go-rmq/internal/version"
)

// instruments are the metrics of one client.
type instruments struct {
	sent      metric.Int64Counter
	consumed  metric.Int64Counter
	operation metric.Float64Histogram
	process   metric.Float64Histogram

	merged     metric.Int64Counter
	duplicates metric.Int64Counter
	failed     metric.Int64Counter
	dead       metric.Int64Counter
	snoozed    metric.Int64Counter
	dropped    metric.Int64Counter
	expired    metric.Int64Counter
	handedBack metric.Int64Counter
	takenOver  metric.Int64Counter
	slotMoves  metric.Int64Counter
	probing    metric.Int64UpDownCounter
	running    metric.Int64UpDownCounter
	lateness   metric.Float64Histogram
	batchSize  metric.Int64Histogram
}

func meterOf(p metric.MeterProvider) metric.Meter {
	return p.Meter(scope, metric.WithSchemaURL(schemaURL), metric.WithInstrumentationVersion(version.Number))
}

func newInstruments(p metric.MeterProvider) (*instruments, error) {
	meter := meterOf(p)
	var errs []error
	counter := func(name, unit, what string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs = append(errs, err)
		return c
	}
	// The conventions give names, units and descriptions of these, but no bounds.
	bounds := metric.WithExplicitBucketBoundaries(durationBounds...)
	sent, err := messagingconv.NewClientSentMessages(meter)
	consumed, err2 := messagingconv.NewClientConsumedMessages(meter)
	operation, err3 := messagingconv.NewClientOperationDuration(meter, bounds)
	process, err4 := messagingconv.NewProcessDuration(meter, bounds)
	errs = append(errs, err, err2, err3, err4)
	x := &instruments{
		sent: sent.Inst(), consumed: consumed.Inst(), operation: operation.Inst(), process: process.Inst(),

		merged:     counter("rmq.merged", "{message}", "Messages sent that met an equal one that waited."),
		duplicates: counter("rmq.duplicates", "{message}", "Unique messages sent that were duplicates: nothing was stored."),
		failed:     counter("rmq.failed", "{message}", "Deliveries that failed; the message comes again."),
		dead:       counter("rmq.dead", "{message}", "Messages that failed for the last time."),
		snoozed:    counter("rmq.snoozed", "{message}", "Messages that their handler wanted later."),
		dropped:    counter("rmq.dropped", "{message}", "Messages that a worker had taken and dropped: cancelled, or too late."),
		expired:    counter("rmq.expired", "{message}", "Messages that came too late to be handled: of those dead or dropped."),
		handedBack: counter("rmq.handed_back", "{message}", "Messages that were taken, but not begun, and went back."),
		takenOver:  counter("rmq.taken_over", "{message}", "Messages that this worker lost to another one."),
		slotMoves:  counter("rmq.slot.moves", "{slot}", "Slots that came to this worker, or left it."),
	}
	x.lateness, err = meter.Float64Histogram("rmq.lateness", metric.WithUnit("s"),
		metric.WithDescription("How long after it was due a message was taken, by the clock of Redis."), metric.WithExplicitBucketBoundaries(latenessBounds...))
	errs = append(errs, err)
	x.running, err = meter.Int64UpDownCounter("rmq.handlers.running", metric.WithUnit("{handler}"), metric.WithDescription("Handlers that run now in this process."))
	errs = append(errs, err)
	x.probing, err = meter.Int64UpDownCounter("rmq.probing", metric.WithUnit("{worker}"), metric.WithDescription("Workers of this process that only try a message now and then, because all of the topic fail."))
	errs = append(errs, err)
	x.batchSize, err = meter.Int64Histogram("rmq.batch.size", metric.WithUnit("{message}"),
		metric.WithDescription("Messages that a worker took at once from a slot."), metric.WithExplicitBucketBoundaries(batchBounds...))
	errs = append(errs, err)
	return x, errors.Join(errs...)
}
