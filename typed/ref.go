package typed

import (
	"context"
	"errors"
	"fmt"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// Ref is a topic whose messages refer to values: the content is the identity of a value,
// and the handler gets the value as it is when it is handled. So changes of one value merge
// while they wait, whatever has changed.
type Ref[T any] struct {
	message.Topic

	// Identity returns what names a value, such as its key in your database. Required to
	// send.
	Identity func(T) string

	// Basis returns the SlotBasis: values with the same one are handled one at a time.
	// It must be the same for values of one identity, or they would wait in two slots and
	// not merge. Defaults to the identity.
	Basis func(T) string

	// Load returns the value of an identity. Required to listen. If the value is gone, and
	// there is nothing to do for it, let the error be or wrap [ErrGone]: the message is
	// done.
	Load func(ctx context.Context, identity string) (T, error)
}

// ErrGone is returned by a [Ref.Load] whose value is not there any more.
var ErrGone = errors.New("the value is gone")

// Message returns the message about a value, to be sent in a batch.
func (r Ref[T]) Message(v T, how How) (message.Message, error) {
	if r.Identity == nil {
		return nil, missing("send to", r.Name, "Ref.Identity")
	}
	if how == nil {
		return nil, missing("send to", r.Name, "How")
	}
	return how(r.Identity(v), basisOf(r.Basis, v)), nil
}

// Send sends a message about a value: that it has changed, or is to be handled.
func (r Ref[T]) Send(ctx context.Context, by Sender, v T, how How) (producer.Receipt, error) {
	m, err := r.Message(v, how)
	if err != nil {
		return producer.Receipt{}, err
	}
	return by.Send(ctx, r.Topic, m)
}

// Every has a message about a value sent again and again by a rule, in which Content and SlotBasis
// stay empty; see rmq.Client.
func (r Ref[T]) Every(ctx context.Context, by Repeater, v T, rule message.Recurring) error {
	if r.Identity == nil {
		return missing("send to", r.Name, "Ref.Identity")
	}
	rule.Content, rule.SlotBasis = r.Identity(v), basisOf(r.Basis, v)
	return by.Every(ctx, r.Topic, rule)
}

// Cancel removes the message about a value, or asks its handler to stop; see rmq.Client.
func (r Ref[T]) Cancel(ctx context.Context, by Changer, v T) (removed, asked bool, err error) {
	if r.Identity == nil {
		return false, false, missing("cancel in", r.Name, "Ref.Identity")
	}
	return by.Cancel(ctx, r.Topic, r.Identity(v), basisOf(r.Basis, v))
}

// Reschedule gives the message about a value that waits another time or priority; see
// rmq.Client.
func (r Ref[T]) Reschedule(ctx context.Context, by Changer, v T, to inspector.Move) (inspector.Entry, error) {
	if r.Identity == nil {
		return inspector.Entry{}, missing("reschedule in", r.Name, "Ref.Identity")
	}
	return by.Reschedule(ctx, r.Topic, r.Identity(v), basisOf(r.Basis, v), to)
}

// Listen has handle handle the values that the messages refer to. An error of Load fails the
// delivery, as one of handle does, whose return means the same as with [consumer.MessageListener].
func (r Ref[T]) Listen(on Listener, handle func(ctx context.Context, d *Delivery[T]) error, o consumer.ListenOptions) error {
	if handle == nil {
		return missing("listen to", r.Name, "handle")
	}
	if r.Load == nil {
		return missing("listen to", r.Name, "Ref.Load")
	}
	return on.Listen(r.Topic, consumer.ListenerFunc(func(ctx context.Context, d *consumer.Delivery) error {
		v, err := r.Load(ctx, d.Content)
		switch {
		case errors.Is(err, ErrGone):
			return nil
		case err != nil:
			return fmt.Errorf("load the value: %w", err)
		}
		return handle(ctx, &Delivery[T]{Delivery: d, Value: v})
	}), o)
}
