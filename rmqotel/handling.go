package rmqotel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/slotmq/go-rmq/rmq"
)

// Middleware makes spans of handlers and measures them: it is an rmq.Middleware.
func (t *Telemetry) Middleware(next rmq.MessageListener) rmq.MessageListener {
	return listener{t, next}
}

// listener is the MessageListener around another one.
type listener struct {
	*Telemetry
	next rmq.MessageListener
}

// OnMessage handles a message in a span of its own.
func (l listener) OnMessage(ctx context.Context, d *rmq.Delivery) (err error) {
	dest := l.destination(d.Topic)
	at := append(l.atCreation(isProcess, dest, d.Topic.Kind, ""), partition(d.Slot), attemptKey.Int(d.Attempt), fenceKey.Int64(d.Fence))
	at = l.about(at, d.Content)
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer)}
	if l.links != nil {
		sends := l.links.recall(ctx, dest, d)
		options = append(options, trace.WithLinks(sends.links()...))
		if sends.count > 0 {
			at = append(at, mergedKey.Int64(sends.count))
		}
	}
	ctx, span := l.tracer.Start(ctx, "process "+dest, append(options, trace.WithAttributes(at...))...)
	l.meters.running.Add(ctx, 1)
	begun := time.Now()
	returned := false
	defer func() { // also after a panic, which goes on, and when the handler ends its goroutine
		what, word := rmq.EventFailed, "panic"
		if returned {
			what, word = outcome(ctx, d, err)
		}
		l.meters.running.Add(ctx, -1)
		l.meters.consumed.Add(ctx, 1, l.measured(processName, dest, word, l.server.one))
		l.meters.process.Record(ctx, time.Since(begun).Seconds(), l.measured(processName, dest, word, l.server.one))
		failed(span, err, word)
		span.End()
		if l.links != nil && (what == rmq.EventDone || what == rmq.EventDied || what == rmq.EventDropped) {
			l.links.forget(ctx, dest, d)
		}
	}()
	err = l.next.OnMessage(ctx, d)
	returned = true
	return err
}

// outcome is what becomes of a message whose handler has returned, and the class of its error
// if it failed. Why its context was cancelled says more than the error that it made of that.
func outcome(ctx context.Context, d *rmq.Delivery, err error) (what rmq.What, word string) {
	switch what = rmq.OutcomeOf(ctx, d, err); what {
	case rmq.EventDone, rmq.EventSnoozed:
		return what, ""
	}
	if cause := context.Cause(ctx); cause != nil {
		err = errors.Join(err, cause)
	}
	return what, rmq.ErrorType(err)
}
