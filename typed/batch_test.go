package typed_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/typed"
)

// Values come together. What cannot be read is dead and is not among them, so the results
// are about the others.
func TestBatchOfValues(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, i *inspector.Inspector, client *rmq.Client) {
		prices := typed.Topic[price]{Topic: rmq.Topic{Name: "prices", Kind: rmq.KindPriority, Slots: 1}}
		ctx := t.Context()
		for i := range int64(6) {
			_, err := prices.Send(ctx, client, price{fmt.Sprint("p", i), i}, typed.Priority(100+i))
			must.Do(t, err)
			_, err = client.Send(ctx, prices.Topic, rmq.Priority{Content: fmt.Sprint("not JSON ", i), Priority: 100 + i})
			must.Do(t, err)
		}
		oops := errors.New("oops")
		calls := make(chan *typed.Batch[price], 100)
		must.Do(t, prices.ListenBatch(client, func(_ context.Context, b *typed.Batch[price]) error {
			defer func() { calls <- b }()
			for i, d := range b.Messages {
				switch n := d.Value.Cents; {
				case n == 1:
					b.Dead(i, oops)
				case d.Attempt > 1:
				case n == 2:
					b.Fail(i, oops)
				case n == 3:
					b.RetryAfter(i, time.Hour, oops)
				case n == 4:
					b.Later(i, time.Hour)
				}
			}
			return nil
		}, rmq.BatchOptions{}))
		must.Do(t, client.Start(ctx))
		first, second := await.Signal(t, "calls", calls), await.Signal(t, "calls", calls)
		if len(first.Messages) != 6 || len(second.Messages) != 1 || second.Messages[0].Value != (price{"p2", 2}) {
			t.Errorf("%d values, and then %d", len(first.Messages), len(second.Messages))
		}
		await.True(t, "two wait for their time", func() bool { return waiting(t, i, "prices") == 2 })
		stats, err := i.Stats(ctx, "prices")
		must.Do(t, err)
		if stats.Dead != 7 {
			t.Errorf("%d are dead", stats.Dead)
		}
		// A batch in which nothing can be read is not handled.
		_, err = client.Send(ctx, prices.Topic, rmq.Priority{Content: "not JSON at all", Priority: 100})
		must.Do(t, err)
		await.True(t, "it is dead", func() bool {
			stats, err := i.Stats(ctx, "prices")
			return err == nil && stats.Dead == 8
		})
		if len(calls) > 0 {
			t.Errorf("%d values were handled", len((<-calls).Messages))
		}
	})
}

func TestBatchHandlerIsMissing(t *testing.T) {
	t.Parallel()
	if err := (typed.Topic[price]{}).ListenBatch(nil, nil, rmq.BatchOptions{}); err == nil {
		t.Error("no handler is accepted")
	}
}
