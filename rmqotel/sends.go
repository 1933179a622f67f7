package rmqotel

import (
	"cmp"
	"context"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/slots"
)

// SendMiddleware makes spans of sends and measures how long they take: it is an
// producer.Middleware.
func (t *Telemetry) SendMiddleware(next producer.Sender) producer.Sender { return sender{t, next} }

// sender is the Sender around another one.
type sender struct {
	*Telemetry
	next producer.Sender
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
	word := s.failed(span, err)
	s.took(ctx, time.Since(begun), operation{sendName, sendName, dest, word})
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
	word := s.failed(span, err)
	s.took(ctx, time.Since(begun), operation{sendName, sendName, dest, word})
	return receipts, err
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
// once something was sent to it. A topic that Send is about to refuse has none.
func (t *Telemetry) slotOf(topic rmq.Topic, dest, basis string) (slot int, ok bool) {
	if topic.Validate() != nil {
		return 0, false
	}
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
	c, _ := message.CommonOf(m)
	return c.Content, cmp.Or(c.SlotBasis, c.Content)
}
