package rmqotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// mostLines is how many attributes are kept made. A program that invents names of topics gets
// them made each time.
const mostLines = 10_000

// operation is what a line of the conventions' metrics is about. There are as many as there
// are topics, times a small number.
type operation struct {
	name, kind string // kind: its type, only for durations; empty: none
	dest       string
	errorType  string // empty: it did not fail
}

// measured are the attributes of a line, made once.
func (t *Telemetry) measured(o operation) metric.MeasurementOption {
	if known, ok := t.lines.Load(o); ok {
		return known.(metric.MeasurementOption)
	}
	at := append(named(t.server.one), system, semconv.MessagingOperationName(o.name), semconv.MessagingDestinationName(o.dest))
	if o.kind != "" {
		at = append(at, semconv.MessagingOperationTypeKey.String(o.kind))
	}
	if o.errorType != "" {
		at = append(at, semconv.ErrorTypeKey.String(o.errorType))
	}
	made := metric.WithAttributeSet(attribute.NewSet(at...))
	t.keep(o, made)
	return made
}

// topic is the attribute of what only RMQ measures, made once for each topic.
func (t *Telemetry) topic(dest string) metric.MeasurementOption {
	if known, ok := t.lines.Load(dest); ok {
		return known.(metric.MeasurementOption)
	}
	made := metric.WithAttributeSet(attribute.NewSet(topicKey.String(dest)))
	t.keep(dest, made)
	return made
}

func (t *Telemetry) keep(of any, made metric.MeasurementOption) {
	if t.kept.Add(1) <= mostLines {
		t.lines.Store(of, made)
	}
}

// took records how long an operation took that Redis had to answer.
func (t *Telemetry) took(ctx context.Context, d time.Duration, o operation) {
	t.meters.operation.Record(ctx, d.Seconds(), t.measured(o))
}
