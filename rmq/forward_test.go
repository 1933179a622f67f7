package rmq_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

func TestForward(t *testing.T) {
	t.Parallel()
	onOneAndMany(t, func(t *testing.T, rdb redis.UniversalClient) {
		client := opened(t, rmq.Config{Redis: rdb})
		from := rmq.Topic{Name: "from", Kind: rmq.KindPriority, Slots: 2}
		to := rmq.Topic{Name: "to", Kind: rmq.KindPriority, Slots: 2}
		forward := rmq.Forward(client, to, func(d *rmq.Delivery) rmq.Message {
			switch d.Content {
			case "stays":
				return nil
			case "bad":
				return rmq.Priority{Content: d.Content, Priority: 1}
			}
			return rmq.Priority{Content: d.Content, Priority: 2 * d.Priority}
		})
		handled, got, died := make(chan error, 10), make(chan rmq.Delivery, 10), make(chan rmq.Death, 10)
		must.Do(t, client.Listen(from, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
			err := forward.OnMessage(ctx, d)
			handled <- err
			return err
		}), rmq.ListenOptions{}))
		must.Do(t, client.ListenDead(from, func(_ context.Context, d *rmq.Death) error { died <- *d; return nil }))
		must.Do(t, client.Listen(to, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error { got <- *d; return nil }), rmq.ListenOptions{}))
		begin(t, client)
		send := func(content string) {
			t.Helper()
			_, err := client.Send(context.Background(), from, rmq.Priority{Content: content, SlotBasis: "one", Priority: 100})
			must.Do(t, err)
		}
		send("stays")
		must.Do(t, await.Signal(t, "it is handled", handled))
		send("bad")
		if err := await.Signal(t, "the bad one is handled", handled); !errors.Is(err, rmq.ErrInvalid) {
			t.Error(err)
		}
		if d := nextDeath(t, died); d.Content != "bad" || d.Attempts != 1 {
			t.Errorf("%+v", d)
		}
		send("goes")
		must.Do(t, await.Signal(t, "it is handled", handled))
		if d := await.Signal(t, "it is forwarded", got); d.Content != "goes" || d.Priority != 200 {
			t.Errorf("%+v", d)
		}
	})
}

// What the other topic refuses since its time has passed may have another time at a second try. Then it is dead.
func TestForwardOfThePast(t *testing.T) {
	t.Parallel()
	client := opened(t, rmq.Config{Redis: servertest.SharedRedis(t).Client(t), Namespace: t.Name(), RefusePast: true, Backoff: rmq.Schedule(time.Millisecond)})
	from := rmq.Topic{Name: "from", Kind: rmq.KindPriority, Slots: 1}
	to := rmq.Topic{Name: "to", Kind: rmq.KindFixedTime, Slots: 1}
	died, got := make(chan rmq.Death, 10), make(chan rmq.Delivery, 10)
	must.Do(t, client.Listen(from, rmq.Forward(client, to, func(d *rmq.Delivery) rmq.Message {
		if d.Content == "mended" && d.Attempt > 1 {
			return rmq.FixedTime{Content: d.Content, In: time.Millisecond}
		}
		return rmq.FixedTime{Content: d.Content, At: time.Now().Add(-time.Hour)}
	}), rmq.ListenOptions{}))
	must.Do(t, client.ListenDead(from, func(_ context.Context, d *rmq.Death) error { died <- *d; return nil }))
	must.Do(t, client.Listen(to, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error { got <- *d; return nil }), rmq.ListenOptions{}))
	begin(t, client)
	for _, content := range []string{"past", "mended"} {
		_, err := client.Send(context.Background(), from, rmq.Priority{Content: content, Priority: 100})
		must.Do(t, err)
	}
	if d := nextDeath(t, died); d.Content != "past" || d.Attempts != 2 {
		t.Errorf("%+v", d)
	}
	if d := await.Signal(t, "it is forwarded", got); d.Content != "mended" {
		t.Errorf("%+v", d)
	}
}
