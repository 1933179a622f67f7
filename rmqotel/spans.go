package rmqotel

import (
	"fmt"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/rmq"
)

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
	return protocol.StoreKey(dest, slot)
}

// failed notes in a span what went wrong, and returns the class of it; empty if nothing did.
func (t *Telemetry) failed(span trace.Span, err error) (word string) {
	word = rmq.ErrorType(err)
	t.blame(span, word, err)
	return word
}

// blame notes the class of a failure in a span, and the text of err, if there is one.
func (t *Telemetry) blame(span trace.Span, word string, err error) {
	if word == "" {
		return
	}
	text := word
	if err != nil && !t.cfg.HideContents {
		text = fmt.Sprint(err) // which bears an Error method that panics
	}
	span.SetAttributes(semconv.ErrorTypeKey.String(word))
	span.SetStatus(codes.Error, text)
}
