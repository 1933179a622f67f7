package typed

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/consumer"
)

// Batch is the values of one call: those of one slot that could be taken at once.
type Batch[T any] struct {
	Messages []*Delivery[T]

	all   *consumer.Batch // with those that could not be decoded
	place []int           // of each of Messages in it
}

// Fail says that message i failed: see [consumer.Batch.Fail].
func (b *Batch[T]) Fail(i int, err error) { b.all.Fail(b.place[i], err) }

// Dead says that no retry can mend message i.
func (b *Batch[T]) Dead(i int, err error) { b.all.Dead(b.place[i], err) }

// RetryAfter says that message i is to come again after d.
func (b *Batch[T]) RetryAfter(i int, d time.Duration, err error) {
	b.all.RetryAfter(b.place[i], d, err)
}

// Later says that message i is to come again after d, and that this delivery does not count.
func (b *Batch[T]) Later(i int, d time.Duration) { b.all.Later(b.place[i], d) }

// ListenBatch has handle handle the values of the topic together. A content that the codec
// cannot decode is dead at once and not in the Batch. If none is left, handle is not called. What
// handle returns means the same as with [consumer.BatchListener].
func (t Topic[T]) ListenBatch(on Listener, handle func(ctx context.Context, b *Batch[T]) error, o consumer.BatchOptions) error {
	if handle == nil {
		return missing("listen to", t.Name, "handle")
	}
	codec := t.codec()
	return on.ListenBatch(t.Topic, consumer.BatchFunc(func(ctx context.Context, all *consumer.Batch) error {
		b := &Batch[T]{all: all}
		for i, d := range all.Messages {
			x, err := decode(codec, d)
			if err != nil {
				all.Fail(i, err)
				continue
			}
			b.Messages, b.place = append(b.Messages, x), append(b.place, i)
		}
		if len(b.Messages) == 0 {
			return nil
		}
		return handle(ctx, b)
	}), o)
}
