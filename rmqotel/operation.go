package rmqotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotmq/go-rmq/rmq"
)

// Operation runs do in a span with the name of an operation, such as cancel, reschedule or
// requeue, and of the topic, and records how long it took. The span is of kind CLIENT. The
// conventions have no operation type for these, so it has none.
func (t *Telemetry) Operation(ctx context.Context, name string, topic rmq.Topic, do func(ctx context.Context) error) error {
	dest := t.destination(topic)
	at := t.atCreation([]attribute.KeyValue{system, semconv.MessagingOperationName(name)}, dest, topic.Kind, t.server.one)
	ctx, span := t.tracer.Start(ctx, name+" "+dest, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(at...))
	defer span.End()
	begun := time.Now()
	err := do(ctx)
	word := t.failed(span, err)
	t.took(ctx, time.Since(begun), operation{name, "", dest, word})
	return err
}
