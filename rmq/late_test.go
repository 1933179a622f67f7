package rmq_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqtest"
)

// MaxLate goes by the clock of Redis, to the millisecond, which is hours ahead of that of
// the worker here. A retry is not looked at.
func TestMaxLateByTheClockOfRedis(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		client := rmqtest.New(t, rmq.Config{Backoff: rmq.Schedule(time.Hour)})
		topic := rmq.Topic{Name: "codes", Kind: rmq.KindFixedTime, Slots: 1}
		client.Advance(5 * time.Hour)
		const most = time.Minute
		const ms = time.Millisecond
		for _, lateBy := range []time.Duration{0, most - 2*ms, most - ms, most, most + ms, most + 2*ms, 2 * most} {
			at := client.Now().Add(2*most - lateBy)
			if _, err := client.Send(context.Background(), topic, rmq.FixedTime{Content: fmt.Sprint(lateBy), At: at}); err != nil {
				t.Fatal(err)
			}
		}
		client.Advance(2 * most)
		var got []string
		handle := func(d *rmq.Delivery) error {
			got = append(got, fmt.Sprint(d.Content, " ", d.Attempt))
			if d.Content == "0s" && d.Attempt == 1 {
				return errors.New("it comes again, and is late by an hour")
			}
			return nil
		}
		var err error
		if o := (rmq.ListenOptions{MaxLate: most}); together {
			err = client.ListenBatch(topic, rmq.BatchFunc(func(_ context.Context, b *rmq.Batch) error {
				for i, d := range b.Messages {
					if err := handle(d); err != nil {
						b.Fail(i, err)
					}
				}
				return nil
			}), rmq.BatchOptions{ListenOptions: o})
		} else {
			err = client.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error { return handle(d) }), o)
		}
		if err == nil {
			err = client.Start(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
		client.Advance(2 * time.Hour)
		if want := []string{"1m0s 1", "59.999s 1", "59.998s 1", "0s 1", "0s 2"}; !slices.Equal(got, want) {
			t.Errorf("together %v: handled %q, want %q", together, got, want)
		}
		for _, content := range []string{"1m0.001s", "1m0.002s", "2m0s"} {
			if err := client.Redis().ZScore(context.Background(), "dead{codes_0}", content).Err(); err != nil {
				t.Errorf("%s is not dead: %v", content, err)
			}
		}
	}
}
