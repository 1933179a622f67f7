package typed

import (
	"context"
	"fmt"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// Topic is a topic whose messages are values of T: the whole value is the content. Values
// that differ in one field do not merge; where the last state should replace the ones
// before, use [Ref].
type Topic[T any] struct {
	message.Topic

	// Codec turns a value into a content and back. Defaults to [JSON].
	Codec Codec[T]

	// Basis returns the SlotBasis: values with the same one are handled one at a time.
	// Defaults to the content, so that only equal values are.
	Basis func(T) string
}

// Content returns the content of a value, by which Client.Explain finds its message.
func (t Topic[T]) Content(v T) (string, error) {
	content, err := t.codec().Encode(v)
	if err != nil {
		return "", fmt.Errorf("encode a %T for topic %s: %w", v, t.Name, err)
	}
	return content, nil
}

// Message returns a value as a message, to be sent in a batch.
func (t Topic[T]) Message(v T, how How) (message.Message, error) {
	if how == nil {
		return nil, missing("send to", t.Name, "How")
	}
	content, err := t.Content(v)
	if err != nil {
		return nil, err
	}
	return how(content, basisOf(t.Basis, v)), nil
}

// Send sends a value.
func (t Topic[T]) Send(ctx context.Context, by Sender, v T, how How) (producer.Receipt, error) {
	m, err := t.Message(v, how)
	if err != nil {
		return producer.Receipt{}, err
	}
	return by.Send(ctx, t.Topic, m)
}

// Cancel removes the message of a value, or asks its handler to stop; see rmq.Client. It does
// not find one sent by [Distinct].
func (t Topic[T]) Cancel(ctx context.Context, by Changer, v T) (removed, asked bool, err error) {
	content, err := t.Content(v)
	if err != nil {
		return false, false, err
	}
	return by.Cancel(ctx, t.Topic, content, basisOf(t.Basis, v))
}

// Reschedule gives the message of a value that waits another time or priority; see
// rmq.Client. It does not find one sent by [Distinct].
func (t Topic[T]) Reschedule(ctx context.Context, by Changer, v T, to inspector.Move) (inspector.Entry, error) {
	content, err := t.Content(v)
	if err != nil {
		return inspector.Entry{}, err
	}
	return by.Reschedule(ctx, t.Topic, content, basisOf(t.Basis, v), to)
}

// Every has a value sent again and again by a rule, in which Content and SlotBasis stay empty; see
// rmq.Client. It does not fit [Distinct]: each declaration would be another rule.
func (t Topic[T]) Every(ctx context.Context, by Repeater, v T, r message.Recurring) error {
	content, err := t.Content(v)
	if err != nil {
		return err
	}
	r.Content, r.SlotBasis = content, basisOf(t.Basis, v)
	return by.Every(ctx, t.Topic, r)
}

// Listen has handle handle the values of the topic. A content that the codec cannot decode
// is dead at once, with the reason: no retry would help. What handle returns means the same as with
// [consumer.MessageListener].
func (t Topic[T]) Listen(on Listener, handle func(ctx context.Context, d *Delivery[T]) error, o consumer.ListenOptions) error {
	if handle == nil {
		return missing("listen to", t.Name, "handle")
	}
	codec := t.codec()
	return on.Listen(t.Topic, consumer.ListenerFunc(func(ctx context.Context, d *consumer.Delivery) error {
		x, err := decode(codec, d)
		if err != nil {
			return err
		}
		return handle(ctx, x)
	}), o)
}

// decode returns a delivery with its value. The error of a content that cannot be decoded
// has its message die.
func decode[T any](codec Codec[T], d *consumer.Delivery) (*Delivery[T], error) {
	v, err := codec.Decode(d.Content)
	if err != nil {
		return nil, verdict.DeadError(fmt.Errorf("decode the content as a %T: %w", v, err))
	}
	return &Delivery[T]{Delivery: d, Value: v}, nil
}

func (t Topic[T]) codec() Codec[T] {
	if t.Codec == nil {
		return JSON[T]()
	}
	return t.Codec
}

// basisOf is the SlotBasis of a value; empty where it is the content.
func basisOf[T any](basis func(T) string, v T) string {
	if basis == nil {
		return ""
	}
	return basis(v)
}
