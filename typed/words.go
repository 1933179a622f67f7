package typed

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// Sender sends messages: an rmq.Client, or a [producer.Producer].
type Sender interface {
	Send(ctx context.Context, t message.Topic, m message.Message) (producer.Receipt, error)
}

// Changer changes messages that wait: an rmq.Client.
type Changer interface {
	Cancel(ctx context.Context, t message.Topic, content, basis string) (removed, asked bool, err error)
	Reschedule(ctx context.Context, t message.Topic, content, basis string, to inspector.Move) (inspector.Entry, error)
}

// Repeater has messages sent again and again: an rmq.Client.
type Repeater interface {
	Every(ctx context.Context, t message.Topic, r message.Recurring) error
}

// Listener takes listeners before it starts: an rmq.Client, or a [consumer.Consumer].
type Listener interface {
	Listen(t message.Topic, l consumer.MessageListener, o consumer.ListenOptions) error
	ListenBatch(t message.Topic, l consumer.BatchListener, o consumer.BatchOptions) error
}

// Delivery is a value on its way to your handler.
type Delivery[T any] struct {
	*consumer.Delivery
	Value T
}

// How says when a message is handled. It must fit the kind of the topic.
type How func(content, basis string) message.Message

// Priority is for topics of the Priority kind: 17 to 2^53 − 1.
func Priority(p int64) How {
	return func(content, basis string) message.Message {
		return message.Priority{Content: content, SlotBasis: basis, Priority: p}
	}
}

// Within is for topics of the RangeMerge kind: the message is handled d after the first of
// those that merged.
func Within(d time.Duration) How {
	return func(content, basis string) message.Message {
		return message.RangeMerge{Content: content, SlotBasis: basis, Range: d}
	}
}

// Debounced is for topics of the RangeMerge kind: the message is handled when nothing that merges
// was sent for d, and at the latest a ceiling after the first. The ceiling is larger than d.
func Debounced(d, ceiling time.Duration) How {
	return func(content, basis string) message.Message {
		return message.RangeMerge{Content: content, SlotBasis: basis, Range: d, Extend: true, Ceiling: ceiling}
	}
}

// At is for topics of the FixedTime kind.
func At(t time.Time) How {
	return func(content, basis string) message.Message {
		return message.FixedTime{Content: content, SlotBasis: basis, At: t}
	}
}

// In is for topics of the FixedTime kind: after d, 1 ms or more, by the clock of the Redis server.
// What is due now is sent with At(time.Now()).
func In(d time.Duration) How {
	return func(content, basis string) message.Message {
		return message.FixedTime{Content: content, SlotBasis: basis, In: d}
	}
}

// missing is the error for a function that has to be there.
func missing(operation, topic, field string) error {
	return fmt.Errorf("%s topic %s: %w", operation, topic, &message.InvalidError{Field: field, Value: "nil", Limit: "a function"})
}
