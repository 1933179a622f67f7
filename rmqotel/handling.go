package rmqotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// Middleware makes spans of handlers and counts those that run: it is an rmq.Middleware.
func (t *Telemetry) Middleware(next rmq.MessageListener) rmq.MessageListener {
	return listener{t, next}
}

// BatchMiddleware does for batch listeners what Middleware does for others: it is an
// rmq.BatchMiddleware.
func (t *Telemetry) BatchMiddleware(next consumer.BatchListener) consumer.BatchListener {
	return batchListener{t, next}
}

// listener is the MessageListener around another one.
type listener struct {
	*Telemetry
	next rmq.MessageListener
}

// OnMessage handles a message in a span of its own.
func (l listener) OnMessage(ctx context.Context, d *rmq.Delivery) (err error) {
	h := l.begin(ctx, handling{d.Topic, d.Slot, d.Attempt, d.Fence, []string{d.Content}}, l.about(nil, d.Content)...)
	returned := false
	defer func() { // also after a panic, which goes on, and when the handler ends its goroutine
		if !returned {
			h.end("panic", nil)
			return
		}
		what := consumer.OutcomeOf(h.ctx, d, err)
		h.end(h.class(what, err), err)
		if over(what) {
			h.forget(d.Content)
		}
	}()
	err = l.next.OnMessage(h.ctx, d)
	returned = true
	return err
}

// batchListener is the BatchListener around another one.
type batchListener struct {
	*Telemetry
	next consumer.BatchListener
}

// OnBatch handles messages in one span.
func (l batchListener) OnBatch(ctx context.Context, b *rmq.Batch) (err error) {
	contents := make([]string, len(b.Messages))
	for i, d := range b.Messages {
		contents[i] = d.Content
	}
	h := l.begin(ctx, handling{b.Topic, b.Slot, b.Attempt, b.Fence, contents}, semconv.MessagingBatchMessageCount(len(contents)))
	returned := false
	defer func() {
		if !returned {
			h.end("panic", nil)
			return
		}
		what := consumer.OutcomeOf(h.ctx, b.Messages[0], err) // of all that the listener has not named
		h.end(h.class(what, err), err)
		h.forget(h.ended(b, err)...)
	}()
	err = l.next.OnBatch(h.ctx, b)
	returned = true
	return err
}

// handling is one call of a handler: what it is about.
type handling struct {
	topic    rmq.Topic
	slot     int
	attempt  int
	fence    int64
	contents []string
}

// span is a handling that runs.
type span struct {
	*Telemetry
	trace.Span
	handling
	dest string
	ctx  context.Context // of the handler
}

// begin begins the span of a handling.
func (t *Telemetry) begin(ctx context.Context, h handling, more ...attribute.KeyValue) span {
	dest := t.destination(h.topic)
	at := append(t.atCreation(isProcess, dest, h.topic.Kind, ""), partition(h.slot), attemptKey.Int(h.attempt), fenceKey.Int64(h.fence))
	at = append(at, more...)
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer)}
	if t.links != nil {
		links, merged := t.links.recall(ctx, dest, h)
		options = append(options, trace.WithLinks(links...))
		if merged > 0 {
			at = append(at, mergedKey.Int64(merged))
		}
	}
	ctx, s := t.tracer.Start(ctx, processName+" "+dest, append(options, trace.WithAttributes(at...))...)
	t.meters.running.Add(ctx, 1)
	return span{t, s, h, dest, ctx}
}

// end ends it. word is the class of the failure; empty if it did not fail.
func (s span) end(word string, err error) {
	s.meters.running.Add(s.ctx, -1)
	s.blame(s.Span, word, err)
	s.End()
}

// over reports whether a message does not come again.
func over(what message.What) bool {
	return what == message.Done || what == message.Died || what == message.Dropped
}

// ended are the contents of a batch that do not come again. Those that the listener has named
// as failed do.
func (s span) ended(b *rmq.Batch, err error) (all []string) {
	for i, d := range b.Messages {
		if over(b.Outcome(s.ctx, i, err)) {
			all = append(all, d.Content)
		}
	}
	return all
}

// forget deletes the links of messages that do not come again.
func (s span) forget(contents ...string) {
	if s.links != nil && len(contents) > 0 {
		s.links.forget(s.ctx, s.dest, s.slot, s.fence, contents)
	}
}

// class is the class of the error of a handling that has ended in some way. Why its context was
// cancelled says more than the error that the handler made of that.
func (s span) class(what message.What, err error) string {
	if what == message.Done || what == message.Snoozed {
		return ""
	}
	return rmq.ErrorType(errors.Join(err, context.Cause(s.ctx)))
}
