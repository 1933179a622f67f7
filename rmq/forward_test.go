package rmq_test

import (
	"context"
	"errors"
	"strings"
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

// What is forwarded was sent before. So it is not refused where its time has passed.
func TestForwardOfThePast(t *testing.T) {
	t.Parallel()
	client := opened(t, rmq.Config{Redis: servertest.SharedRedis(t).Client(t), Namespace: t.Name(), RefusePast: true})
	from := rmq.Topic{Name: "from", Kind: rmq.KindPriority, Slots: 1}
	to := rmq.Topic{Name: "to", Kind: rmq.KindFixedTime, Slots: 1}
	got, died := make(chan rmq.Delivery, 10), make(chan rmq.Death, 10)
	must.Do(t, client.Listen(from, rmq.Forward(client, to, func(d *rmq.Delivery) rmq.Message {
		by := map[string]time.Duration{"late": time.Second, "too late": time.Hour}[d.Content]
		return rmq.FixedTime{Content: d.Content, At: time.Now().Add(-by)}
	}), rmq.ListenOptions{}))
	must.Do(t, client.Listen(to, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error { got <- *d; return nil }), rmq.ListenOptions{MaxLate: 10 * time.Minute}))
	must.Do(t, client.ListenDead(to, func(_ context.Context, d *rmq.Death) error { died <- *d; return nil }))
	begin(t, client)
	for _, content := range []string{"late", "too late"} {
		_, err := client.Send(await.Context(t), from, rmq.Priority{Content: content, Priority: 100})
		must.Do(t, err)
	}
	if d := await.Signal(t, "it is forwarded", got); d.Content != "late" {
		t.Errorf("%+v", d)
	}
	if d := nextDeath(t, died); d.Content != "too late" || !strings.Contains(d.Reason, "late by 1h") {
		t.Errorf("%+v", d)
	}
}
