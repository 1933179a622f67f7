package rmqotel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/slots"
)

// SendMiddleware makes spans of sends and counts them: it is an rmq.SendMiddleware.
func (t *Telemetry) SendMiddleware(next rmq.Sender) rmq.Sender { return sender{t, next} }

// sender is the Sender around another one.
type sender struct {
	*Telemetry
	next rmq.Sender
}

// Send sends one message in a span, whose context is that of the message's creation.
func (s sender) Send(ctx context.Context, topic rmq.Topic, m rmq.Message) (rmq.Receipt, error) {
	dest := s.destination(topic)
	content, basis := identity(m)
	slot, slotKnown := s.slotOf(topic, dest, basis)
	addr := s.server.of(ctx, storeKey(dest, slot, slotKnown))

	at := s.atCreation(isSend, dest, topic.Kind, addr)
	if slotKnown {
		at = append(at, partition(slot))
	}
	at = s.about(at, content)
	ctx, span := s.tracer.Start(ctx, "send "+dest, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(at...))
	defer span.End()
	if s.links != nil && slotKnown {
		s.links.remember(ctx, dest, map[int][]string{slot: {content}})
	}

	begun := time.Now()
	receipt, err := s.next.Send(ctx, topic, m)
	if err == nil {
		s.server.answered()
		if !slotKnown {
			span.SetAttributes(partition(receipt.Slot))
		}
		if addr == "" {
			addr = s.server.of(ctx, storeKey(dest, receipt.Slot, true))
			span.SetAttributes(named(addr)...)
		}
		span.SetAttributes(peer(addr)...)
		span.SetAttributes(outcomeKey.String(receipt.Outcome.String()))
	}
	word := rmq.ErrorType(err)
	failed(span, err, word)
	s.meters.sent.Add(ctx, 1, s.measured(sendName, dest, word, s.server.one))
	s.took(ctx, begun, semconv.MessagingOperationTypeSend, sendName, dest, word)
	return receipt, err
}

// SendBatch sends a batch in one span. With links its context is that of the creation of all
// messages, so the span is a producer's, not a client's.
func (s sender) SendBatch(ctx context.Context, topic rmq.Topic, ms []rmq.Message) ([]rmq.Receipt, error) {
	dest := s.destination(topic)
	kind := trace.SpanKindClient
	if s.links != nil {
		kind = trace.SpanKindProducer
	}
	at := append(s.atCreation(isSend, dest, topic.Kind, s.server.one), semconv.MessagingBatchMessageCount(len(ms)))
	ctx, span := s.tracer.Start(ctx, "send "+dest, trace.WithSpanKind(kind), trace.WithAttributes(at...))
	defer span.End()
	if s.links != nil {
		s.links.remember(ctx, dest, s.bySlot(topic, dest, ms))
	}

	begun := time.Now()
	receipts, err := s.next.SendBatch(ctx, topic, ms)
	if err == nil {
		s.server.answered()
		span.SetAttributes(peer(s.server.one)...)
	}
	word := rmq.ErrorType(err)
	failed(span, err, word)
	for word, n := range errorTypes(err, len(ms)) {
		s.meters.sent.Add(ctx, int64(n), s.measured(sendName, dest, word, s.server.one))
	}
	s.took(ctx, begun, semconv.MessagingOperationTypeSend, sendName, dest, word)
	return receipts, err
}

// errorTypes counts the messages of a batch by what became of them; an empty word is success.
func errorTypes(err error, n int) map[string]int {
	var some *rmq.BatchError
	switch {
	case n == 0:
		return nil
	case !errors.As(err, &some): // all or none
		return map[string]int{rmq.ErrorType(err): n}
	}
	all := map[string]int{}
	for _, e := range some.Errs {
		all[rmq.ErrorType(e)]++
	}
	if good := n - len(some.Errs); good > 0 {
		all[""] = good
	}
	return all
}

// bySlot are the contents of a batch by their slots; empty while these are not known.
func (s sender) bySlot(topic rmq.Topic, dest string, ms []rmq.Message) map[int][]string {
	all := map[int][]string{}
	for _, m := range ms {
		content, basis := identity(m)
		if slot, ok := s.slotOf(topic, dest, basis); ok {
			all[slot] = append(all[slot], content)
		}
	}
	return all
}

// slotOf is the slot of a basis. How many slots a topic has that leaves it open is known
// once something was sent to it.
func (t *Telemetry) slotOf(topic rmq.Topic, dest, basis string) (slot int, ok bool) {
	n := topic.Slots
	if n == 0 {
		if known, ok := t.slots.Load(dest); ok {
			n = known.(int)
		}
	}
	if n < 1 {
		return 0, false
	}
	return slots.Of(basis, n), true
}

// identity is the content of a message, and what decides its slot.
func identity(m rmq.Message) (content, basis string) {
	switch m := m.(type) {
	case rmq.Priority:
		content, basis = m.Content, m.SlotBasis
	case rmq.FixedTime:
		content, basis = m.Content, m.SlotBasis
	case rmq.RangeMerge:
		content, basis = m.Content, m.SlotBasis
	}
	if basis == "" {
		basis = content
	}
	return content, basis
}

// atCreation are the attributes that a sampler sees.
func (t *Telemetry) atCreation(operation []attribute.KeyValue, dest string, kind rmq.Kind, addr string) []attribute.KeyValue {
	at := append(slices.Clip(operation), semconv.MessagingDestinationName(dest), kindKey.String(kind.String()))
	if id := t.worker.Load(); id != nil {
		at = append(at, semconv.MessagingClientID(*id))
	}
	return append(at, named(addr)...)
}

// about adds what the Config allows to say about one content.
func (t *Telemetry) about(at []attribute.KeyValue, content string) []attribute.KeyValue {
	if t.cfg.Contents {
		at = append(at, semconv.MessagingMessageID(content))
	}
	if t.cfg.BodySize {
		at = append(at, semconv.MessagingMessageBodySize(len(content)))
	}
	return at
}

func partition(slot int) attribute.KeyValue {
	return semconv.MessagingDestinationPartitionID(strconv.Itoa(slot))
}

// storeKey is a key of the slot; empty if it is not known.
func storeKey(dest string, slot int, known bool) string {
	if !known {
		return ""
	}
	return luascripts.StoreKey(dest, slot)
}

// failed notes in a span what went wrong. The methods of an error may panic.
func failed(span trace.Span, err error, word string) {
	if word == "" {
		return
	}
	span.SetAttributes(semconv.ErrorTypeKey.String(word))
	text := word
	if err != nil {
		text = fmt.Sprint(err)
	}
	span.SetStatus(codes.Error, text)
}

// measured are the attributes of the conventions' metrics.
func (t *Telemetry) measured(operation, dest, word, addr string, more ...attribute.KeyValue) metric.MeasurementOption {
	at := append(more, system, semconv.MessagingOperationName(operation), semconv.MessagingDestinationName(dest))
	if word != "" {
		at = append(at, semconv.ErrorTypeKey.String(word))
	}
	return metric.WithAttributeSet(attribute.NewSet(append(at, named(addr)...)...))
}

// took records how long an operation took that Redis had to answer.
func (t *Telemetry) took(ctx context.Context, begun time.Time, kind attribute.KeyValue, operation, dest, word string) {
	var more []attribute.KeyValue
	if kind.Valid() {
		more = append(more, kind)
	}
	t.meters.operation.Record(ctx, time.Since(begun).Seconds(), t.measured(operation, dest, word, t.server.one, more...))
}
